/** An answer, whole. */
export interface LoadResponse {
  readonly status: number;
  /** True when it has a `Retry-After`. */
  readonly retryAfter: boolean;
  /** True when the server closes the connection after it. */
  readonly closes: boolean;
  readonly body: string;
}

const HEAD_END = "\r\n\r\n";
/** A server under test that sends more than this in one answer is broken; memory has an end. */
const MAX_BUFFER_BYTES = 256 * 1024 * 1024;

/**
 * Reads answers from the bytes of one connection, however they are cut. One request is under way at a time, so at most one
 * answer is read; bytes after it are an error of the server.
 */
export class ResponseReader {
  #buffer: Buffer = Buffer.alloc(0);

  /** Adds bytes. The answer when it is complete, null when more are needed. Throws when this is not HTTP. */
  push(chunk: Buffer): LoadResponse | null {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    if (this.#buffer.length > MAX_BUFFER_BYTES) throw new Error("an answer is too large");
    const headEnd = this.#buffer.indexOf(HEAD_END);
    if (headEnd < 0) return null;
    const head = this.#buffer.toString("latin1", 0, headEnd);
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
    if (!Number.isInteger(status)) throw new Error("an answer does not begin as HTTP/1.1 does");
    const start = headEnd + HEAD_END.length;
    const body = hasNoBody(status) ? { text: "", end: start } : readBody(head, this.#buffer, start);
    if (body === null) return null;
    if (this.#buffer.length > body.end) throw new Error("there are bytes after an answer");
    this.#buffer = Buffer.alloc(0);
    const closes = headerOf(head, "connection")?.toLowerCase() === "close";
    return { status, retryAfter: headerOf(head, "retry-after") !== undefined, closes, body: body.text };
  }
}

interface Body {
  readonly text: string;
  /** Offset of the first byte after it. */
  readonly end: number;
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}

function readBody(head: string, buffer: Buffer, start: number): Body | null {
  const length = headerOf(head, "content-length");
  if (length !== undefined) {
    const end = start + Number(length);
    return buffer.length < end ? null : { text: buffer.toString("utf8", start, end), end };
  }
  if (headerOf(head, "transfer-encoding")?.toLowerCase() === "chunked") return readChunks(buffer, start);
  throw new Error("an answer does not say how long it is");
}

function readChunks(buffer: Buffer, start: number): Body | null {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = buffer.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(buffer.toString("latin1", at, lineEnd), 16);
    if (!(size >= 0)) throw new Error("a chunk does not say how long it is");
    at = lineEnd + 2;
    const end = at + size + 2;
    if (buffer.length < end) return null;
    if (size === 0) return { text: Buffer.concat(pieces).toString("utf8"), end };
    pieces.push(buffer.subarray(at, at + size));
    at = end;
  }
}

/** The value of a header, whatever the case of its name. */
function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}:[ \\t]*([^\\r]*)`, "i").exec(head)?.[1];
}
