import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, ReadError } from "./byte-reader.ts";
import {
  announcesBody,
  type BodyFraming,
  connectionOptions,
  framingOf,
  type Header,
  readFirstLine,
  readHeaders,
} from "./message-head.ts";

/** A status line and its headers, checked. */
export interface ResponseHead {
  /** From 200 on. */
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly Header[];
  /** Where the bytes that follow end; for an answer without a body it is `none`, whatever the headers say. */
  readonly body: BodyFraming;
  /** False when the connection ends with this answer. */
  readonly keepAlive: boolean;
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: ([\t -~\x80-\xff]*))?$/;

/** Informational answers before the one that counts; a service that sends more of them is broken. */
const MAX_INFORMATIONAL = 16;

/**
 * Reads the head of an answer, as strictly as that of a request: what is ambiguous could give the next client on the
 * connection a wrong answer. An answer that ends where the connection ends is malformed, as half of it would look
 * like all of it.
 *
 * @param isHead true when HEAD was asked: then no body follows
 */
export async function readResponseHead(reader: ByteReader, isHead: boolean): Promise<Result<ResponseHead, ReadError>> {
  for (let count = 0; count <= MAX_INFORMATIONAL; count++) {
    const first = await readFirstLine(reader);
    if (!first.ok) return err(first.error === "ended" ? "ended" : "malformed");
    const line = parseStatusLine(first.value);
    // 101 would hand the connection over to another protocol.
    if (line === undefined || line.status === 101) return err("malformed");
    const headers = await readHeaders(reader, first.value);
    if (!headers.ok) return err(headers.error === "ended" ? "ended" : "malformed");
    if (line.status >= 200) return interpret(line, headers.value, isHead);
  }
  return err("malformed");
}

type StatusLine = Pick<ResponseHead, "status" | "reason">;

function parseStatusLine(line: string): StatusLine | undefined {
  const [, digits, reason = ""] = STATUS_LINE.exec(line) ?? [];
  const status = Number(digits ?? 0);
  return status >= 100 && status <= 599 ? { status, reason } : undefined;
}

function interpret(line: StatusLine, headers: readonly Header[], isHead: boolean): Result<ResponseHead, "malformed"> {
  const framing = framingOf(headers);
  if (!framing.ok) return err("malformed");
  const keepAlive = !connectionOptions(headers).has("close");
  if (line.status === 204 || line.status === 304 || isHead) {
    // A service that announces a body for a 204 may send it too.
    const contradicts = line.status === 204 && announcesBody(framing.value);
    return ok({ ...line, headers, body: { kind: "none" }, keepAlive: keepAlive && !contradicts });
  }
  if (framing.value.kind === "none") return err("malformed");
  return ok({ ...line, headers, body: framing.value, keepAlive });
}
