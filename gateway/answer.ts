import type { Socket } from "node:net";
import type { Deadline } from "./deadline.ts";
import type { RequestHead } from "./request-head.ts";
import type { ResponseHead } from "./response-head.ts";
import type { UpstreamAnswer } from "./upstream-connection.ts";
import { renderAnswerHeaders } from "./upstream-headers.ts";
import { drained, writeMessage } from "./write-message.ts";

/** How an answer's body ends on the client's connection. */
type AnswerFraming = "none" | "length" | "chunked" | "close";

/** The head of an answer on its way to the client. */
export interface AnswerHead {
  /** Latin1, with the empty line at its end. */
  readonly text: string;
  readonly framing: AnswerFraming;
  /** True when the connection has to close after the answer. */
  readonly closes: boolean;
}

/** Longest answer with a length that is collected before it is written: whole, in one system call. */
const MAX_COLLECTED_BYTES = 64 * 1024;

const CRLF = Buffer.from("\r\n");
const NOTHING = Buffer.alloc(0);
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** The head of an answer. `close`: true when the connection has to close for other reasons. */
export function prepareAnswer(request: RequestHead, response: ResponseHead, close: boolean): AnswerHead {
  const framing = framingFor(request, response);
  const closes = close || !request.keepAlive || framing === "close";
  let text = `HTTP/1.1 ${response.status} ${response.reason}\r\n${renderAnswerHeaders(response.headers)}`;
  if (framing === "chunked") text += "Transfer-Encoding: chunked\r\n";
  const length = response.headers.find(({ lower }) => lower === "content-length")?.value;
  // Also where no body follows: to a HEAD it says how long one would be.
  if (framing !== "close" && length !== undefined && response.status !== 204) text += `Content-Length: ${length}\r\n`;
  return { text: `${text}${closes ? "Connection: close\r\n" : ""}\r\n`, framing, closes };
}

function framingFor(request: RequestHead, response: ResponseHead): AnswerFraming {
  if (response.body.kind === "chunked") return request.http10 ? "close" : "chunked";
  return response.body.kind;
}

/**
 * Writes an answer to the client, as fast as the client reads.
 *
 * @param stall put off by every progress
 * @returns true when all of it was passed on, false when the service broke off or the client is gone
 */
export async function sendAnswer(
  socket: Socket,
  head: AnswerHead,
  answer: UpstreamAnswer,
  stall: Deadline,
): Promise<boolean> {
  const { body: framing } = answer.head;
  const isShort = framing.kind === "length" && framing.bytes <= MAX_COLLECTED_BYTES;
  let whole = answer.body.takeWhole();
  while (isShort && whole === undefined) {
    if (!(await answer.body.more()) || socket.destroyed) {
      answer.release(false);
      return false;
    }
    stall.extend();
    whole = answer.body.takeWhole();
  }
  if (whole !== undefined) {
    answer.release(true);
    writeMessage(socket, head.text, whole);
    return true;
  }
  const complete = await passPieces(socket, head, answer, stall);
  answer.release(complete);
  return complete;
}

async function passPieces(socket: Socket, head: AnswerHead, { body }: UpstreamAnswer, stall: Deadline) {
  let unsent = head.text;
  for (;;) {
    const piece = await body.next();
    if (!piece.ok || socket.destroyed) return false;
    stall.extend();
    if (piece.value === undefined) break;
    const bytes = head.framing === "chunked" ? inChunk(piece.value) : piece.value;
    if (!writeMessage(socket, unsent, bytes)) await drained(socket);
    unsent = "";
  }
  if (head.framing === "chunked") writeMessage(socket, unsent, LAST_CHUNK);
  // Of a client that reads to the end, and an answer without any bytes.
  else if (unsent !== "") writeMessage(socket, unsent, NOTHING);
  return true;
}

function inChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]);
}
