import { type Agent, type IncomingHttpHeaders, request } from "node:http";

/** A server, and the token of requests to it. */
export interface Client {
  /** Origin: `http://127.0.0.1:8200`. */
  readonly url: string;
  /** "" for none. A secret. */
  readonly token: string;
}

/** An object of JSON. */
export interface Json {
  readonly [name: string]: unknown;
}

/** An answer, read. */
export interface Reply {
  readonly status: number;
  /** `{}` for an empty body. */
  readonly body: Json;
  readonly headers: IncomingHttpHeaders;
}

/** What a request has besides its method, path and body. */
export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's own address; absent: the system chooses. */
  readonly from?: string;
  /** Connections that are shared; absent: each request has one of its own. */
  readonly agent?: Agent;
  /** How long to wait for the answer (ms). */
  readonly timeoutMs?: number;
}

/** The base path of the interface of teams; everything else is below `v1/`. */
export const TEAMS = "api/v2";

/** Sends one request. `path` is whole but for its first slash. Throws when no answer comes. */
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

/** The body of an answer that must be a success. */
export async function ask(client: Client, method: string, path: string, body?: unknown): Promise<Json> {
  const reply = await send(client, method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** The member of an answer that a path of names leads to. */
export function member(json: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json);
}

/** The same, when it must be a string. */
export function text(json: unknown, ...names: readonly string[]): string {
  const found = member(json, ...names);
  if (typeof found !== "string") throw new Error(`an answer has no ${names.join(".")}: ${JSON.stringify(json)}`);
  return found;
}

/** The same, when it must be a list of strings. A list that is not there is empty. */
export function texts(json: unknown, ...names: readonly string[]): string[] {
  const found = member(json, ...names);
  return Array.isArray(found) ? found.map(String) : [];
}

/** A token and its accessor. */
export interface MadeToken {
  readonly token: string;
  readonly accessor: string;
}

/** Makes a token at an endpoint below `auth/token/`. */
export async function makeToken(client: Client, endpoint: string, fields: Json): Promise<MadeToken> {
  const body = await ask(client, "POST", `v1/auth/token/${endpoint}`, fields);
  return { token: text(body, "auth", "client_token"), accessor: text(body, "auth", "accessor") };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null;
}
