import type { Socket } from "node:net";
import { renderAnswerHeaders } from "./headers.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { MAX_KEPT_ANSWER_BYTES } from "./limits.ts";
import type { RequestHead } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";
import type { UpstreamAnswer } from "./upstream.ts";
import { flushed, writeMessage } from "./write-message.ts";

/** Where an answer goes. */
export interface AnswerTarget {
  readonly socket: Socket;
  readonly request: RequestHead;
  /** True when the connection closes after the answer. */
  readonly closes: boolean;
  /** Memory for answers that are not read yet. */
  readonly room: Shares;
  readonly key: ShareKey;
  /** Called with the number of bytes that the client has to read next, or 0 for the service, when either takes time. */
  readonly hurry: (bytes: number) => void;
}

/** How the body of an answer ends on the client's connection: by its length in bytes, in chunks, or where the connection ends. */
type Ending = number | "chunked" | "close";

const CRLF = Buffer.from("\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/**
 * Writes an answer to the client. One of moderate length is kept until the client has read it, and the connection to the service
 * is free meanwhile; one that is longer, or for which the client's share has no room, is read as fast as the client reads.
 *
 * @returns "open" or "closing" when all of it was passed on; "broken" when the service broke off or the client is gone
 */
export async function sendAnswer(target: AnswerTarget, answer: UpstreamAnswer): Promise<"open" | "closing" | "broken"> {
  const { socket, room, key, hurry } = target;
  const { body, head } = answer;
  const most = head.body.kind === "length" ? head.body.bytes : MAX_KEPT_ANSWER_BYTES;
  const kept = new KeptBytes(room, key, most > MAX_KEPT_ANSWER_BYTES ? 0 : most);
  try {
    for (;;) {
      hurry(0);
      const piece = await body.next();
      if (!piece.ok || socket.destroyed) return "broken";
      if (piece.value === undefined) {
        answer.release(true);
        return await writeWhole(target, answer, kept.bytes);
      }
      if (!kept.add(piece.value)) return await passPieces(target, answer, kept, piece.value);
    }
  } finally {
    kept.release();
    answer.release(false);
  }
}

async function writeWhole(target: AnswerTarget, answer: UpstreamAnswer, body: Buffer) {
  const { socket, closes } = target;
  writeMessage(socket, renderHead(answer, body.length, closes), body);
  if (socket.writableLength > 0) {
    target.hurry(body.length);
    await flushed(socket);
  }
  return socket.destroyed ? "broken" : closes ? "closing" : "open";
}

async function passPieces(target: AnswerTarget, answer: UpstreamAnswer, kept: KeptBytes, unfit: Buffer) {
  const { socket, request } = target;
  const framing = answer.head.body;
  const ending = framing.kind === "length" ? framing.bytes : request.http10 ? "close" : "chunked";
  const closes = target.closes || ending === "close";
  let unsent = renderHead(answer, ending, closes);
  const write = async (piece: Buffer): Promise<void> => {
    target.hurry(piece.length);
    writeMessage(socket, unsent, ending === "chunked" ? inChunk(piece) : piece);
    unsent = "";
    await flushed(socket);
  };
  if (kept.length > 0) await write(kept.bytes);
  kept.release();
  await write(unfit);
  for (;;) {
    const piece = await answer.body.next();
    if (!piece.ok || socket.destroyed) return "broken";
    if (piece.value === undefined) break;
    await write(piece.value);
  }
  if (ending === "chunked") writeMessage(socket, "", LAST_CHUNK);
  answer.release(true);
  return closes ? "closing" : "open";
}

function renderHead({ head }: UpstreamAnswer, ending: Ending, closes: boolean): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n${renderAnswerHeaders(head.headers)}`;
  if (ending === "chunked") text += "Transfer-Encoding: chunked\r\n";
  if (typeof ending === "number" && head.status !== 204) text += lengthLine(head.body.kind === "none", ending, head);
  return `${text}${closes ? "Connection: close\r\n" : ""}\r\n`;
}

/** Where no body follows, the service's own length: to a HEAD it says how long one would be. */
function lengthLine(isBodiless: boolean, bytes: number, { headers }: UpstreamAnswer["head"]): string {
  const length = isBodiless ? headers.find(({ lower }) => lower === "content-length")?.value : bytes;
  return length === undefined ? "" : `Content-Length: ${length}\r\n`;
}

function inChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]);
}
