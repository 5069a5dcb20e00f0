import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteReader } from "../../../gateway/byte-reader.ts";

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

describe("ByteReader", () => {
  it("stops the sender while nobody reads, and loses nothing", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 256));
    const paused = once(near, "pause");
    far.end(sent);
    await paused;
    expect(reader.unread).toBeLessThan(sent.length);
    const received: Buffer[] = [];
    for (;;) {
      const part = await reader.bytes(10_000);
      if (part === undefined) break;
      expect(part.length).toBeLessThanOrEqual(10_000);
      received.push(part);
    }
    expect(Buffer.concat(received).equals(sent)).toBe(true);
  });

  it("reads lines and bytes in turn, and leaves the rest", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    far.end("one\r\nab\ncd\r\n\r\nrest");
    expect(await reader.nextLine(3)).toEqual({ ok: true, value: "one" });
    expect((await reader.bytes(6))?.toString()).toBe("ab\ncd\r");
    expect(await reader.nextLine(3)).toEqual({ ok: false, error: "malformed" });
    expect((await reader.bytes(1))?.toString()).toBe("\n");
    expect(await reader.nextLine(0)).toEqual({ ok: true, value: "" });
    expect(await reader.nextLine(10)).toEqual({ ok: false, error: "ended" });
    expect((await reader.bytes(100))?.toString()).toBe("rest");
    expect(await reader.bytes(100)).toBeUndefined();
  });

  it("does not wait for the end of a line that is too long already", async () => {
    const { near, far } = await socketPair();
    const reader = new ByteReader(near);
    far.write("abcde");
    expect(await reader.nextLine(3)).toEqual({ ok: false, error: "too-long" });
  });
});
