import { once } from "node:events";
import { createServer } from "node:http";
import { type Json, type MadeToken, makeToken, text } from "../servers/client.ts";
import type { Subject } from "./subject.ts";

/** One attack. */
export interface Check {
  readonly name: string;
  /** Returns how it was refused or recorded; throws when it works. */
  readonly attack: (subject: Subject) => Promise<string>;
}

/** Ends an attack as one that works, unless something is so. */
export function must(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

/** A new token, by the root token. */
export function createToken(subject: Subject, fields: Json, endpoint = "create-orphan"): Promise<MadeToken> {
  return makeToken(subject.client, endpoint, { policies: ["default"], ttl: "1h", ...fields });
}

/** The id of the entity of a token; "" for none. */
export async function entityOf(subject: Subject, token: string): Promise<string> {
  return text((await subject.call("GET", "auth/token/lookup-self", { token })).body, "data", "entity_id");
}

/** Starts an HTTP server on a free port of an address, gives its URL to `work`, and stops it afterwards. */
export async function withServer<T>(
  host: string,
  onRequest: (path: string) => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer(({ url = "" }, response) => {
    onRequest(url);
    response.writeHead(204).end();
  });
  await once(server.listen(0, host), "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  try {
    return await work(`http://${host}:${port}/`);
  } finally {
    server.close();
  }
}
