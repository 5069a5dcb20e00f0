import { type Agent, type IncomingHttpHeaders, request } from "node:http";

/** Longest wait for an answer (ms). */
const ANSWER_MS = 60_000;

/** A server, and the token of requests to it. */
export interface Client {
  /** Origin: `http://127.0.0.1:8200`. */
  readonly url: string;
  /** "" for none. A secret. */
  readonly token: string;
}

/** A JSON object. */
export interface Json {
  readonly [name: string]: unknown;
}

/** An answer of the server. */
export interface Reply {
  readonly status: number;
  /** `{}` for an empty body. */
  readonly body: Json;
  readonly headers: IncomingHttpHeaders;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Shared connections; absent: a connection for this request alone. */
  readonly agent?: Agent;
}

/** Base path of the Terraform interface; every other path is below `v1/`. */
export const TEAMS = "api/v2";

/** Sends one request. `path` has no leading slash. Throws without an answer. */
export function send(
  { url, token }: Client,
  method: string,
  path: string,
  body?: unknown,
  { headers, agent }: SendOptions = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      agent: agent ?? false,
      timeout: ANSWER_MS,
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
    sent.on("timeout", () => sent.destroy(new Error(`${path}: no answer in ${ANSWER_MS} ms`)));
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The body of a successful answer. Throws for any other. */
export async function ask(client: Client, method: string, path: string, body?: unknown): Promise<Json> {
  const reply = await send(client, method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** The member of an answer at a path of names; undefined without one. */
export function member(json: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json);
}

/** As `member`. Throws unless it is a string. */
export function text(json: unknown, ...names: readonly string[]): string {
  const found = member(json, ...names);
  if (typeof found !== "string") throw new Error(`an answer has no ${names.join(".")}: ${JSON.stringify(json)}`);
  return found;
}

/** As `member`, as a list of strings; empty without one. */
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
