import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader, ReadError } from "./byte-reader.ts";
import { announcesBody, type Headers, readHead } from "./message-head.ts";
import { badRequest, type Refusal } from "./refusal.ts";

interface StatusLine {
  readonly status: number;
  readonly reason: string;
}

/** A status line from 200 on and its headers, checked. For an answer without a body, `body` is `none`, whatever the headers say. */
export interface ResponseHead extends StatusLine, Headers {
  /** False when the connection ends with this answer. */
  readonly keepAlive: boolean;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d)(?: ([\t -~\x80-\xff]*))?$/;

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
    const head = await readHead(reader, parseStatusLine);
    if (!head.ok) return err(head.error === "ended" ? "ended" : "malformed");
    if (head.value.status >= 200) return interpret(head.value, isHead);
  }
  return err("malformed");
}

function parseStatusLine(line: string): Result<StatusLine, Refusal> {
  const [, status, reason = ""] = STATUS_LINE.exec(line) ?? [];
  // 101 would hand the connection over to another protocol.
  if (status === undefined || status === "101") return err(badRequest("malformed status line"));
  return ok({ status: Number(status), reason });
}

function interpret(head: StatusLine & Headers, isHead: boolean): Result<ResponseHead, "malformed"> {
  const { status, body } = head;
  const keepAlive = !head.options.has("close");
  if (status === 204 || status === 304 || isHead) {
    // A service that announces a body for a 204 may send it too.
    const contradicts = status === 204 && announcesBody(body);
    return ok({ ...head, body: { kind: "none" }, keepAlive: keepAlive && !contradicts });
  }
  return body.kind === "none" ? err("malformed") : ok({ ...head, keepAlive });
}
