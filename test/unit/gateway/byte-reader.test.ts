import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteReader } from "../../../gateway/byte-reader.ts";
import { readRequestHead } from "../../../gateway/message-head.ts";
import { damaged } from "./support.ts";

/** Both ends of a connection. */
async function socketPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const far = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [near] = (await accepted) as [Socket];
  onTestFinished(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

/** Between 1 and `maxBytes` bytes; none at the end. */
async function nextBytes(reader: ByteReader, maxBytes: number): Promise<Buffer> {
  while (reader.unread === 0 && (await reader.more()));
  return reader.take(maxBytes);
}

describe("ByteReader", () => {
  it("stops the sender while nothing is read, and loses nothing", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 256));
    const paused = once(near, "pause");
    far.end(sent);
    await paused;
    expect(reader.unread).toBeLessThan(sent.length);
    const received: Buffer[] = [];
    for (;;) {
      const part = await nextBytes(reader, 10_000);
      if (part.length === 0) break;
      expect(part.length).toBeLessThanOrEqual(10_000);
      received.push(part);
    }
    expect(Buffer.concat(received).equals(sent)).toBe(true);
  });

  it("reads lines and bytes in turn, and leaves the rest", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    far.end("one\r\nab\ncd\r\n\r\nrest");
    while (await reader.more());
    expect(reader.line(3)).toEqual({ ok: true, value: "one" });
    expect(reader.take(6).toString()).toBe("ab\ncd\r");
    expect(reader.line(3)).toEqual({ ok: false, error: "malformed" });
    expect(reader.take(1).toString()).toBe("\n");
    expect(reader.line(0)).toEqual({ ok: true, value: "" });
    expect(reader.line(10)).toBeUndefined();
    expect(reader.take(100).toString()).toBe("rest");
    expect(reader.take(100)).toHaveLength(0);
  });

  it("does not wait for the end of a line that is too long already", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    far.write("abcde");
    await reader.more();
    expect(reader.line(3)).toEqual({ ok: false, error: "too-long" });
  });
});

describe("a head", () => {
  /** What is read of a head that comes in these pieces, and how many bytes are left. */
  async function readPieces(pieces: readonly string[]) {
    const stream = new PassThrough();
    const reader = new ByteReader(stream);
    const head = readRequestHead(reader);
    for (const piece of pieces) {
      stream.write(Buffer.from(piece, "latin1"));
      await new Promise(setImmediate);
    }
    stream.end();
    const read = await head;
    // Nothing is read after a mistake.
    return { read, left: read.ok ? reader.unread : undefined };
  }

  it("is the same whether it is here at once or comes byte by byte, with every mistake", async () => {
    const lines = fc.array(fc.constantFrom("A:b", "X-Long: \xe9\t c ", "Content-Length: 3"), {
      maxLength: 5,
    });
    const whole = fc.tuple(lines, fc.constantFrom("", "body", "GET / HTTP/1.1\r\n\r\n")).map(([headers, rest]) => {
      return `${["GET /a HTTP/1.1", "Host: a", ...headers, "", ""].join("\r\n")}${rest}`;
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(whole, damaged(whole, ["\n", "\r", "\n\r\n", "\r\n\r\n"])),
        fc.nat(),
        async (text, cut) => {
          const atOnce = await readPieces([text]);
          const at = cut % (text.length + 1);
          const inTwo = await readPieces([text.slice(0, at), text.slice(at)]);
          const inBytes = await readPieces([...text]);
          expect([inTwo.read, inBytes.read]).toEqual([atOnce.read, atOnce.read]);
          expect(inTwo.left).toBe(atOnce.left);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("is too long at the same place", async () => {
    const head = (bytes: number) => `GET / HTTP/1.1\r\nHost: a\r\nA: ${"a".repeat(bytes - 32)}\r\n\r\n`;
    for (const bytes of [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 32 * 1024 + 2, 32 * 1024 + 3, 40_000]) {
      const text = head(bytes);
      const atOnce = await readPieces([text]);
      expect((await readPieces([text.slice(0, 20), text.slice(20)])).read).toEqual(atOnce.read);
      if (bytes <= 32 * 1024 || bytes === 40_000) expect(atOnce.read.ok).toBe(bytes <= 32 * 1024);
    }
  });
});
