import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import {
  announcesBody,
  type BodyFraming,
  connectionOptions,
  framingOf,
  type Header,
  readHead,
} from "./message-head.ts";
import { badRequest, type Refusal } from "./refusal.ts";

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

/** Why an answer can't be used: its connection was lost, or it is not certain what it means or where it ends. */
export type ResponseError = "ended" | "malformed";

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
export async function readResponseHead(
  reader: ByteReader,
  isHead: boolean,
): Promise<Result<ResponseHead, ResponseError>> {
  for (let count = 0; count <= MAX_INFORMATIONAL; count++) {
    const head = await readHead(reader, parseStatusLine, () => {});
    if (!head.ok) return err(head.error === "ended" ? "ended" : "malformed");
    const { first, headers } = head.value;
    // 101 would hand the connection over to another protocol.
    if (first.status === 101) return err("malformed");
    if (first.status >= 200) return interpret(first, headers, isHead);
  }
  return err("malformed");
}

type StatusLine = Pick<ResponseHead, "status" | "reason">;

function parseStatusLine(line: string): Result<StatusLine, Refusal> {
  const [, digits, reason = ""] = STATUS_LINE.exec(line) ?? [];
  const status = Number(digits ?? 0);
  return status >= 100 && status <= 599 ? ok({ status, reason }) : err(badRequest("malformed status line"));
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
