import { request } from "node:http";
import type { Place } from "../load/place.ts";
import { readText } from "../read-answer.ts";

/** Who asks, and where. */
export interface Client {
  readonly place: Extract<Place, { kind: "tcp" }>;
  /** "" for none. A secret. */
  readonly token: string;
}

/** An answer, read. */
export interface Reply {
  readonly status: number;
  /** Parsed; `{}` for an empty body. */
  readonly body: Json;
}

/** A JSON object whose members are looked at one by one. */
export interface Json {
  readonly [name: string]: Json | string | number | boolean | null | readonly unknown[] | undefined;
}

/** The base path of the interface of teams; everything else is below `v1/`. */
export const TEAMS = "api/v2";

/** Sends one request. `path` is whole, but for the first slash. Throws when no answer comes. */
export function send(
  client: Client,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: client.place.host,
        port: client.place.port,
        method,
        path: `/${path}`,
        agent: false,
        timeout: 60_000,
        headers: {
          ...(client.token !== "" && { Authorization: `Bearer ${client.token}` }),
          ...(path.startsWith(TEAMS) && { "Content-Type": "application/vnd.api+json" }),
          ...headers,
        },
      },
      (response) => {
        readText(response)
          .then((text) => ({ status: response.statusCode ?? 0, body: text === "" ? {} : (JSON.parse(text) as Json) }))
          .then(resolve, reject);
      },
    );
    sent.on("timeout", () => sent.destroy(new Error("no answer in a minute")));
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The member of an answer that a path of names leads to. */
export function member(json: Json, ...names: readonly string[]): unknown {
  let at: unknown = json;
  for (const name of names) at = typeof at === "object" && at !== null ? (at as Json)[name] : undefined;
  return at;
}

/** The same, when it must be a string. */
export function text(json: Json, ...names: readonly string[]): string {
  const found = member(json, ...names);
  if (typeof found !== "string")
    throw new Error(`an answer has no ${names.join(".")}: ${JSON.stringify(json.errors ?? null)}`);
  return found;
}
