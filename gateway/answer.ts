import type { Socket } from "node:net";
import { renderAnswerHeaders } from "./headers.ts";
import { MAX_KEPT_ANSWER_BYTES } from "./limits.ts";
import { valuesOf } from "./message-head.ts";
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

/** How the client knows where the body of an answer ends: by its length, by chunks, or by the end of the connection. */
type Ending = "length" | "chunks" | "close";

const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const CRLF = Buffer.from("\r\n");

/**
 * Writes an answer to the client. One of moderate length is kept until the client has read it, and the connection to the service
 * is free meanwhile; one that is longer, or for which the client's share has no room, is read as fast as the client reads.
 *
 * @returns "open" or "closing" when all of it was passed on; "broken" when the service broke off or the client is gone
 */
export async function sendAnswer(target: AnswerTarget, answer: UpstreamAnswer): Promise<"open" | "closing" | "broken"> {
  const { socket, request, room, key, hurry } = target;
  const framing = answer.head.body;
  const ending: Ending = framing.kind !== "chunked" ? "length" : request.http10 ? "close" : "chunks";
  const closes = target.closes || ending === "close";
  let unsent = renderHead(answer, ending, closes);
  let keeps = framing.kind !== "length" || framing.bytes <= MAX_KEPT_ANSWER_BYTES;
  let kept = 0;
  const drain = async (): Promise<void> => {
    hurry(socket.writableLength);
    await flushed(socket);
    room.giveBack(key, kept);
    kept = 0;
  };
  try {
    for (;;) {
      hurry(0);
      const piece = await answer.body.next();
      if (!piece.ok || socket.destroyed) return "broken";
      if (piece.value === undefined) break;
      const { length } = piece.value;
      writeMessage(socket, unsent, ending === "chunks" ? inChunk(piece.value) : piece.value);
      unsent = "";
      keeps &&= kept + length <= MAX_KEPT_ANSWER_BYTES && room.take(key, length);
      if (keeps) kept += length;
      else await drain();
    }
    answer.release(true);
    if (ending === "chunks") writeMessage(socket, unsent, LAST_CHUNK);
    else if (unsent !== "") socket.write(unsent, "latin1");
    if (socket.writableLength > 0) await drain();
    return socket.destroyed ? "broken" : closes ? "closing" : "open";
  } finally {
    room.giveBack(key, kept);
    answer.release(false);
  }
}

function renderHead({ head }: UpstreamAnswer, ending: Ending, closes: boolean): string {
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n${renderAnswerHeaders(head)}`;
  if (ending === "chunks") text += "Transfer-Encoding: chunked\r\n";
  // Where no body follows it is kept too: to a HEAD it says how long one would be. A 204 has none.
  const [length] = ending === "length" && head.status !== 204 ? valuesOf(head.headers, "content-length") : [];
  if (length !== undefined) text += `Content-Length: ${length}\r\n`;
  return `${text}${closes ? "Connection: close\r\n" : ""}\r\n`;
}

function inChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]);
}
