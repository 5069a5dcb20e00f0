import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { BodyPages, PAGE_BYTES } from "../../../gateway/body-pages.ts";
import { freeReceived } from "../../../gateway/free-received.ts";
import { receiveBody } from "../../../gateway/received-body.ts";
import { Shares } from "../../../gateway/shares.ts";
import { ok } from "../../../src/base/result.ts";
import { RawClient, request, startTestGateway } from "./support.ts";

/** A body of so many pieces, each with memory of its own, as it comes from a socket. */
function bodyOf(pieces: number, pieceBytes: number) {
  let left = pieces;
  return {
    takeWhole: () => undefined,
    more: async () => left > 0,
    next: async () => ok(left-- > 0 ? Buffer.allocUnsafeSlow(pieceBytes).fill("a") : undefined),
  };
}

describe("memory of bodies", () => {
  it("is used again when nobody reads it any more, and never otherwise", () => {
    const pages = new BodyPages();
    const [first, second] = [pages.take(), pages.take()];
    expect(second).not.toBe(first);
    pages.giveBack([first]);
    expect(pages.take()).toBe(first);
    expect(pages.take()).not.toBe(first);
  });

  it("does not wait for the collector, however many bodies come and go", async () => {
    const pages = new BodyPages();
    const room = new Shares(32 * 1024 * 1024, 32 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let count = 0; count < 400; count++) {
      const received = await receiveBody(
        bodyOf(8, 64 * 1024),
        { maxBytes: 1024 * 1024, room, pages, key: "a" },
        () => {},
      );
      if (!received.ok) throw new Error("the body failed");
      received.value.release(true);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    expect(most).toBeLessThan(8 * 1024 * 1024);
    expect(room.used).toBe(0);
  });

  it("is given back when more of it was in use than is kept", () => {
    const pages = new BodyPages();
    const taken = Array.from({ length: 1024 }, () => pages.take());
    const before = process.memoryUsage().arrayBuffers;
    pages.giveBack(taken);
    expect(before - process.memoryUsage().arrayBuffers).toBeGreaterThan(700 * PAGE_BYTES);
  });
});

describe("memory of received bytes", () => {
  it("is given back when nothing follows in it", () => {
    const received = Buffer.allocUnsafeSlow(64 * 1024);
    freeReceived(received.subarray(300));
    expect(received.buffer.byteLength).toBe(0);
  });

  it.each([
    ["other bytes follow", Buffer.allocUnsafeSlow(64 * 1024).subarray(0, 40_000)],
    ["they are few", Buffer.from("abc")],
  ])("is left alone when %s", (_, received) => {
    freeReceived(received);
    expect(received.buffer.byteLength).toBeGreaterThan(0);
  });
});

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Bytes of bodies that came with their own letter alone, and with others. */
interface Counts {
  right: number;
  wrong: number;
}

/** Reads requests. One with an even letter is answered a while before its body is read. */
async function serveHastily(socket: Socket, counts: Counts): Promise<void> {
  let letter = 0;
  let left = 0;
  let unread = Buffer.alloc(0);
  for await (const chunk of socket) {
    unread = Buffer.concat([unread, chunk as Buffer]);
    while (unread.length > 0) {
      if (left === 0) {
        const end = unread.indexOf("\r\n\r\n") + 4;
        if (end < 4) break;
        const head = unread.toString("latin1", 0, end);
        unread = unread.subarray(end);
        letter = (/x-letter: (.)/i.exec(head)?.[1] ?? "").charCodeAt(0);
        left = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        if (letter % 2 === 0) {
          socket.write(ANSWER);
          for (let count = 0; count < 20; count++) await turn();
        }
      }
      const body = unread.subarray(0, left);
      unread = unread.subarray(body.length);
      left -= body.length;
      counts[body.equals(Buffer.alloc(body.length, letter)) ? "right" : "wrong"] += body.length;
      if (left === 0 && letter % 2 === 1) socket.write(ANSWER);
    }
  }
}

async function startHastyService(): Promise<{ url: string; counts: Counts }> {
  const counts: Counts = { right: 0, wrong: 0 };
  // The gateway resets connections that it can't use again.
  const server = createServer((socket) => void serveHastily(socket, counts).catch(() => {})).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts };
}

it("never has the bytes of another body, also when the service answers before it has read", async () => {
  const { url, counts } = await startHastyService();
  const { port } = await startTestGateway(url, { clientSharePercent: 100 });
  const letters = [..."abcdefghijklmnop"];
  await Promise.all(
    letters.map(async (letter) => {
      const client = await RawClient.connect(port);
      for (const length of [900_000, 40_000, 900_000, 60_000, 900_000]) {
        const head = request("POST /v1/a", `X-Letter: ${letter}`, `Content-Length: ${length}`);
        await client.send(head + letter.repeat(length));
        expect((await client.answer()).status).toBe(200);
      }
      client.socket.destroy();
    }),
  );
  expect(counts.right).toBeGreaterThan(8 * 3 * 900_000);
  expect(counts.wrong).toBe(0);
});
