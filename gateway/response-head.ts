import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import { type BodyFraming, connectionOptions, framingOf, type Header, readHead } from "./message-head.ts";

/** A status line and its headers, checked. */
export interface ResponseHead {
  /** From 200 on. */
  readonly status: number;
  readonly headers: readonly Header[];
  /** Where the bytes that follow end; for an answer without a body it is `none`, whatever the headers say. */
  readonly body: BodyFraming;
  /** False when the connection ends with this answer. */
  readonly keepAlive: boolean;
}

/** What an answer is not good for: its connection was lost, or nobody can say what it means or where it ends. */
export type ResponseError = "ended" | "malformed";

const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: [\t -~\x80-\xff]*)?$/;

/** Informational answers before the one that counts; a service that sends more of them is broken. */
const MAX_INFORMATIONAL = 16;

/**
 * Reads the head of an answer, as strictly as that of a request: whatever is ambiguous could make the next answer on the
 * connection one for somebody else. An answer that ends where the connection ends is malformed, as nothing would tell half
 * of it from all of it.
 *
 * @param method of the request
 */
export async function readResponseHead(
  reader: ByteReader,
  method: string,
): Promise<Result<ResponseHead, ResponseError>> {
  for (let count = 0; count <= MAX_INFORMATIONAL; count++) {
    const head = await readHead(reader, parseStatusLine, () => {});
    if (!head.ok) return err(head.error === "ended" ? "ended" : "malformed");
    const { first: status, headers } = head.value;
    // 101 would hand the connection over to another protocol.
    if (status === 101) return err("malformed");
    if (status >= 200) return interpret(status, headers, method);
  }
  return err("malformed");
}

function parseStatusLine(line: string): Result<number, "malformed"> {
  const status = Number(STATUS_LINE.exec(line)?.[1] ?? 0);
  return status >= 100 && status <= 599 ? ok(status) : err("malformed");
}

function interpret(status: number, headers: readonly Header[], method: string): Result<ResponseHead, "malformed"> {
  const framing = framingOf(headers);
  if (!framing.ok) return err("malformed");
  const keepAlive = !connectionOptions(headers).has("close");
  if (status === 204 || status === 304 || method === "HEAD") {
    // A service that announces a body for a 204 may send it too.
    const contradicts = status === 204 && announcesBody(framing.value);
    return ok({ status, headers, body: { kind: "none" }, keepAlive: keepAlive && !contradicts });
  }
  if (framing.value.kind === "none") return err("malformed");
  return ok({ status, headers, body: framing.value, keepAlive });
}

function announcesBody(framing: BodyFraming): boolean {
  return framing.kind === "chunked" || (framing.kind === "length" && framing.bytes > 0);
}
