import { describe, expect, it } from "vitest";
import { ResponseReader } from "../../../scripts/bench/load/response-reader.ts";

const PLAIN = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 9\r\n\r\n{"a":"ü"}'.replace(
  "9",
  "10",
);
const CHUNKED = "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n";
const EMPTY = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const BUSY = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

function readCut(text: string, at: number) {
  const reader = new ResponseReader();
  const bytes = Buffer.from(text);
  const early = reader.push(bytes.subarray(0, at));
  return early ?? reader.push(bytes.subarray(at));
}

describe("answers", () => {
  it.each([
    [PLAIN, { status: 200, closes: false, retryAfter: false, body: '{"a":"ü"}' }],
    [CHUNKED, { status: 403, closes: false, retryAfter: false, body: "hello, world" }],
    [EMPTY, { status: 204, closes: true, retryAfter: false, body: "" }],
    [BUSY, { status: 503, closes: false, retryAfter: true, body: "" }],
  ])("are read however they are cut: %j", (text, expected) => {
    for (let at = 1; at <= Buffer.byteLength(text); at++) expect(readCut(text, at), `cut at ${at}`).toEqual(expected);
  });

  it("one after the other, on one connection", () => {
    const reader = new ResponseReader();
    expect(reader.push(Buffer.from(PLAIN))?.status).toBe(200);
    expect(reader.push(Buffer.from(CHUNKED))?.status).toBe(403);
  });

  it.each([
    ["not HTTP", "SSH-2.0-x\r\n\r\n"],
    ["without a length", "HTTP/1.1 200 OK\r\n\r\nhello"],
    ["with bytes after them", `${BUSY}x`],
    ["with a chunk without a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"],
  ])("%s are an error", (_, text) => {
    expect(() => new ResponseReader().push(Buffer.from(text))).toThrow();
  });
});
