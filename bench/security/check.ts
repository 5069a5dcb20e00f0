import { createServer } from "node:http";
import { listenAt } from "../../gateway/server.ts";
import { type Json, type MadeToken, makeToken, type Reply, text } from "../servers/client.ts";
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

/** A new token with a policy of its own, which is written first, and with others. */
export async function tokenWith(subject: Subject, name: string, policy: string, ...others: string[]): Promise<string> {
  await subject.call("POST", `sys/policies/acl/${name}`, { body: { policy } });
  return (await createToken(subject, { policies: [name, ...others] })).token;
}

/** The statuses of the same request, sent several times, one after the other. */
export async function repeated(times: number, send: (at: number) => Promise<Reply>): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < times) statuses.push((await send(statuses.length)).status);
  return statuses;
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
  const bound = await listenAt(server, { host, port: 0 });
  if (!bound.ok) throw new Error(`${host} can't be listened at: ${bound.error}`);
  try {
    return await work(`http://${host}:${bound.value}/`);
  } finally {
    server.close();
  }
}
