import * as http from "node:http";
import * as https from "node:https";
import { hostOf, type Place } from "../load/place.ts";
import { readText } from "../read-answer.ts";

/** An answer, read. */
export interface Answer {
  readonly status: number;
  /** Parsed; null for an empty body. */
  readonly body: AnswerBody | null;
}

/** The parts of answers that the bench looks at. */
export interface AnswerBody {
  readonly auth?: { readonly client_token: string; readonly accessor: string };
  readonly data?: { readonly keys?: readonly string[]; readonly [name: string]: unknown };
  readonly root_token?: string;
}

/** Where a server is and a token of it. */
export interface Access {
  readonly place: Place;
  /** A secret. */
  readonly token: string;
}

/** Another server with the same API. */
export interface OtherServer extends Access {
  readonly url: string;
  /** Its process on this machine; null when nobody said. */
  readonly pid: number | null;
}

/** Sends one request outside of any measurement. `path` is without the base path `/v1/`. */
export function call(access: Access, method: string, path: string, body?: unknown): Promise<Answer> {
  const { place, token } = access;
  const where =
    place.kind === "socket"
      ? { socketPath: place.path }
      : { host: place.host, port: place.port, servername: place.host };
  const send = place.kind === "tcp" && place.tls ? https.request : http.request;
  return new Promise((resolve, reject) => {
    const request = send(
      {
        ...where,
        method,
        path: `/v1/${path}`,
        agent: false,
        rejectUnauthorized: false,
        headers: {
          Host: hostOf(place),
          ...(token !== "" && { "X-Vault-Token": token }),
          ...(body !== undefined && { "Content-Type": mediaTypeOf(path) }),
        },
      },
      (response) => {
        readText(response)
          .then((text) => (text === "" ? null : (JSON.parse(text) as AnswerBody)))
          .then((parsed) => resolve({ status: response.statusCode ?? 0, body: parsed }), reject);
      },
    );
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Teams and organizations speak JSON:API. */
function mediaTypeOf(path: string): string {
  return /^(?:organizations|teams)\b/.test(path) ? "application/vnd.api+json" : "application/json";
}

/** Makes a token at `path` (below `auth/token/`) and returns its text and accessor. Throws when the server refuses. */
export async function makeToken(
  access: Access,
  path: "create" | "create-orphan",
  fields: Readonly<Record<string, unknown>>,
): Promise<{ readonly token: string; readonly accessor: string }> {
  const { status, body } = await call(access, "POST", `auth/token/${path}`, fields);
  if (status !== 200 || !body?.auth) throw new Error(`auth/token/${path} answered ${status}`);
  return { token: body.auth.client_token, accessor: body.auth.accessor };
}
