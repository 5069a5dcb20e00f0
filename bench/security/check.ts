import { createServer } from "node:http";
import { listenAt } from "../../gateway/server.ts";
import { type Json, type MadeToken, makeToken, type Reply, text } from "../servers/client.ts";
import type { Subject } from "./subject.ts";

/** Attacks by name. An attack returns how the server refused or recorded it, and throws if it succeeded. */
export type Checks = Readonly<Record<string, (subject: Subject) => Promise<string>>>;

/** Throws unless `isSo` is true, which reports the attack as successful. */
export function must(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

/** Creates a token with the root token. */
export function createToken(subject: Subject, fields: Json, endpoint = "create-orphan"): Promise<MadeToken> {
  return makeToken(subject.client, endpoint, { policies: ["default"], ttl: "1h", ...fields });
}

/** Writes a policy and creates a token with it and with `others`. */
export async function tokenWith(subject: Subject, name: string, policy: string, ...others: string[]): Promise<string> {
  await subject.call("POST", `sys/policies/acl/${name}`, { body: { policy } });
  return (await createToken(subject, { policies: [name, ...others] })).token;
}

/** Sends requests sequentially and returns their statuses. */
export async function repeated(times: number, send: (at: number) => Promise<Reply>): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < times) statuses.push((await send(statuses.length)).status);
  return statuses;
}

/** The entity id of a token; "" if it has none. */
export async function entityOf(subject: Subject, token: string): Promise<string> {
  return text((await subject.call("GET", "auth/token/lookup-self", { token })).body, "data", "entity_id");
}

/** Runs `work` with the URL of an HTTP server on a free port of the address `host`. */
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
  if (!bound.ok) throw new Error(`can't listen on ${host}: ${bound.error}`);
  try {
    return await work(`http://${host}:${bound.value}/`);
  } finally {
    server.close();
  }
}
