import { type Agent, type IncomingHttpHeaders, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/** A server's address and the token that requests to it use. */
export interface Client {
  /** Origin, for example `http://127.0.0.1:8200`. */
  readonly url: string;
  /** A secret; "" sends no token. */
  readonly token: string;
}

/** A JSON object. */
export interface Json {
  readonly [name: string]: unknown;
}

/** An answer with its parsed body. */
export interface Reply {
  readonly status: number;
  /** `{}` for an empty body. */
  readonly body: Json;
  readonly headers: IncomingHttpHeaders;
}

/** Options of a request. */
export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Source address of the connection. Absent: the operating system chooses. */
  readonly from?: string;
  /** Connection pool. Absent: each request opens a connection. */
  readonly agent?: Agent;
  /** Time limit for the answer (ms). */
  readonly timeoutMs?: number;
}

/** Most attempts. A killed node of a cluster is back within this many seconds. */
const MAX_TRIES = 60;

/** Base path of the teams API. All other endpoints are below `v1/`. */
export const TEAMS = "api/v2";

/** Sends one request. `path` has no leading slash. Throws when there is no answer. */
export function send(
  { url, token }: Client,
  method: string,
  path: string,
  body?: unknown,
  { headers, from, agent, timeoutMs = 60_000 }: SendOptions = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      agent: agent ?? false,
      timeout: timeoutMs,
      ...(from !== undefined && { localAddress: from }),
      headers: {
        ...(token !== "" && { "X-Vault-Token": token, Authorization: `Bearer ${token}` }),
        ...(path.startsWith(TEAMS) && { "Content-Type": "application/vnd.api+json" }),
        ...headers,
      },
    };
    const sent = request(`${url}/${path}`, options, async (response) => {
      try {
        let text = "";
        for await (const piece of response.setEncoding("utf8")) text += piece;
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body: text === "" ? {} : JSON.parse(text) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on("timeout", () => sent.destroy(new Error(`${path}: no answer in ${timeoutMs} ms`)));
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Sends a request, and repeats it each second while the server answers 503. Returns the last answer. */
export async function sendUntilServed(client: Client, method: string, path: string, body?: unknown): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await send(client, method, path, body);
    if (reply.status !== 503 || tries === MAX_TRIES) return reply;
    await pause(1000);
  }
}

/** Like {@link sendUntilServed}. Returns the body of the answer. Throws for a status of 300 or above. */
export async function ask(client: Client, method: string, path: string, body?: unknown): Promise<Json> {
  const reply = await sendUntilServed(client, method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** The value at a path of member names; undefined if it is missing. */
export function member(json: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json);
}

/** Like {@link member}, for a string. Throws for any other value. */
export function text(json: unknown, ...names: readonly string[]): string {
  const found = member(json, ...names);
  if (typeof found !== "string") throw new Error(`an answer has no ${names.join(".")}: ${JSON.stringify(json)}`);
  return found;
}

/** Like {@link member}, for a list of strings. A missing list is empty. */
export function texts(json: unknown, ...names: readonly string[]): string[] {
  const found = member(json, ...names);
  return Array.isArray(found) ? found.map(String) : [];
}

/** A token and its accessor. */
export interface MadeToken {
  readonly token: string;
  readonly accessor: string;
}

/** Creates a token at an endpoint below `auth/token/`. */
export async function makeToken(client: Client, endpoint: string, fields: Json): Promise<MadeToken> {
  const body = await ask(client, "POST", `v1/auth/token/${endpoint}`, fields);
  return { token: text(body, "auth", "client_token"), accessor: text(body, "auth", "accessor") };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}
