import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import type { Deadline } from "./deadline.ts";
import { dateLine } from "./http-date.ts";
import type { RequestHead } from "./request-head.ts";
import { clientHeaderLines } from "./upstream-headers.ts";

/** How an answer's body ends on the client's connection. */
type AnswerFraming =
  | { readonly kind: "none"; readonly length: string | undefined }
  | { readonly kind: "length"; readonly length: string }
  | { readonly kind: "chunked" }
  | { readonly kind: "close" };

/** An answer of the service on its way to the client. */
export interface Answer {
  readonly head: string;
  readonly chunked: boolean;
  /** True when the connection has to close after it. */
  readonly closes: boolean;
}

/**
 * Prepares an answer. One without a length and not chunked ends where the connection ends, so a lost connection would
 * look like its end: it is an error.
 *
 * @param close true when the connection has to close for other reasons
 */
export function prepareAnswer(
  request: RequestHead,
  response: IncomingMessage,
  close: boolean,
): Result<Answer, "endless"> {
  const framing = answerFraming(request, response);
  if (framing === undefined) return err("endless");
  const status = response.statusCode ?? 502;
  const closes = close || !request.keepAlive || framing.kind === "close";
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...clientHeaderLines(response.rawHeaders)];
  if (response.headers.date === undefined) lines.push(dateLine());
  if (framing.kind === "chunked") lines.push("Transfer-Encoding: chunked");
  if ("length" in framing && framing.length !== undefined) lines.push(`Content-Length: ${framing.length}`);
  if (closes) lines.push("Connection: close");
  return ok({ head: `${lines.join("\r\n")}\r\n\r\n`, chunked: framing.kind === "chunked", closes });
}

function answerFraming(request: RequestHead, response: IncomingMessage): AnswerFraming | undefined {
  const status = response.statusCode ?? 502;
  const length = response.headers["content-length"];
  if (status === 204) return { kind: "none", length: undefined };
  if (request.method === "HEAD" || status === 304) return { kind: "none", length };
  if (length !== undefined) return { kind: "length", length };
  if (response.headers["transfer-encoding"]?.toLowerCase() !== "chunked") return undefined;
  return { kind: request.http10 ? "close" : "chunked" };
}

/**
 * Writes an answer to the client, as fast as the client reads.
 *
 * @param stall armed by the caller; put off by every progress
 * @returns true when all of it was passed on, false when the service broke off
 */
export function sendAnswer(
  socket: Socket,
  answer: Answer,
  response: IncomingMessage,
  stall: Deadline,
): Promise<boolean> {
  return new Promise((resolve) => {
    writeTogether(socket, [Buffer.from(answer.head, "latin1")]);
    // Nobody reads the rest of an answer whose client is gone.
    const onGone = (): void => {
      response.destroy();
    };
    socket.once("close", onGone);
    response.on("data", (piece: Buffer) => {
      stall.extend();
      const parts = answer.chunked ? [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF] : [piece];
      if (writeTogether(socket, parts)) return;
      response.pause();
      socket.once("drain", () => {
        stall.extend();
        response.resume();
      });
    });
    response.on("end", () => {
      if (answer.chunked) writeTogether(socket, [LAST_CHUNK]);
      resolve(true);
    });
    // Without an "end" before it, the answer was broken off.
    response.on("close", () => {
      socket.off("close", onGone);
      resolve(false);
    });
  });
}

const CRLF = Buffer.from("\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** What is written in one turn of the event loop leaves in one system call. */
function writeTogether(socket: Socket, parts: readonly Buffer[]): boolean {
  if (socket.writableCorked === 0) {
    socket.cork();
    setImmediate(() => socket.uncork());
  }
  let room = true;
  for (const part of parts) room = socket.write(part);
  return room;
}
