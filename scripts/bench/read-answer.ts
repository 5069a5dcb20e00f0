import type { IncomingMessage } from "node:http";

/** The body of an answer as text. Throws when the connection breaks before its end. */
export async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("utf8");
}
