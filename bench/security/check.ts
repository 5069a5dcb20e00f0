import { once } from "node:events";
import { createServer } from "node:http";
import { type Json, type MadeToken, makeToken } from "../servers/client.ts";
import type { Subject } from "./subject.ts";

/** Attacks by their names. Each returns how it was refused or recorded, and throws when it works. */
export type Checks = Readonly<Record<string, (subject: Subject) => Promise<string>>>;

/** Ends an attack as one that works, unless something is so. */
export function must(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

/** A new token, by the root token. */
export function createToken(subject: Subject, fields: Json, endpoint = "create-orphan"): Promise<MadeToken> {
  return makeToken(subject.client, endpoint, { policies: ["default"], ttl: "1h", ...fields });
}

/** Starts an HTTP server on a free port of an address, gives its URL to `work`, and stops it afterwards. */
export async function withServer<T>(
  host: string,
  onRequest: () => void,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer((_, response) => {
    onRequest();
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
