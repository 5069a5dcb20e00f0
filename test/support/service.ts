import { createExecutionContext, env, SELF } from "cloudflare:test";
import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { differenceFromDescription } from "./described-answers.ts";

/** The bindings as the Worker sees them. */
export const bindings = env as Env;

/** The Workers beside it, and what they are bound to (vitest.config.ts). */
export const exampleBindings = env as {
  readonly OTHER_ISOLATE: Fetcher;
  readonly PROTECTED_API: Fetcher;
  readonly SECRET_ENGINE_SITE: Fetcher;
  readonly ACCOUNTS: KVNamespace;
};

/**
 * A parsed body for tests that look at strings by their path, such as `body.auth.client_token`. For other values `bodyOf`, `dataOf`
 * and `keysOf` give the type that a test names.
 */
export type Loose = string & LooseObject;

/** The keys that most tests look at are named, so that they need no check for absence. */
interface LooseObject {
  readonly auth: Loose;
  readonly data: Loose;
  readonly errors: Loose;
  readonly keys: Loose;
  readonly metadata: Loose;
  readonly wrap_info: Loose;
  readonly client_token: Loose;
  readonly accessor: Loose;
  readonly id: Loose;
  readonly orphan: Loose;
  readonly policies: Loose;
  readonly root_token: Loose;
  readonly token: Loose;
  readonly warnings: Loose;
  readonly [key: string]: Loose;
}

/** An answer, read. */
export interface Answer {
  readonly status: number;
  readonly body: Loose;
  readonly headers: Headers;
}

/** What a request has besides method and path. */
interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  readonly raw?: string;
  readonly headers?: Record<string, string>;
}

/**
 * Sends a request to the Worker, and sees that its answer is as the OpenAPI document says. `path` is without the base path. Straight to its handler: through `SELF` every request of a
 * file makes the later ones slower.
 */
export async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const answer = await answerOf(
    await worker.fetch(requestOf(method, path, options), bindings, createExecutionContext()),
  );
  const difference = differenceFromDescription(method, path, answer.status, answer.body);
  if (difference !== null) throw new Error(`the OpenAPI document is wrong about an answer: ${difference}`);
  return answer;
}

/** The same in a context of its own, for requests that meet in an object while they wait. */
export async function callApart(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return answerOf(await SELF.fetch(requestOf(method, path, options)));
}

function requestOf(method: string, path: string, options: CallOptions): Request {
  const headers = new Headers(options.headers);
  if (options.token) headers.set("X-Vault-Token", options.token);
  const body = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
  return new Request(`http://grove.test/v1/${path}`, { method, headers, body });
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Loose, headers: response.headers };
}

/**
 * The body of an answer in the shape that the test expects, where it is more than text. The compiler can't know it: the test's
 * own assertions check it.
 */
export function bodyOf<T>({ body }: { readonly body: unknown }): T {
  return body as T;
}

/** The `data` of an answer, likewise. */
export function dataOf<T>(answer: { readonly body: unknown }): T {
  return bodyOf<{ readonly data: T }>(answer).data;
}

/** The names of an answer to a list. */
export function keysOf(answer: { readonly body: unknown }): string[] {
  return dataOf<{ readonly keys: string[] }>(answer).keys;
}

/** Initialises the service of this test file and returns the root token. */
export async function initialized(): Promise<string> {
  const answer = await call("PUT", "sys/init");
  if (answer.status !== 200) throw new Error(`sys/init answered ${answer.status}`);
  return answer.body.root_token;
}

/** A token with one policy of its own, which holds `rules`. */
export async function tokenUnder(root: string, rules: string): Promise<string> {
  const name = `rules-${crypto.randomUUID()}`;
  const written = await call("PUT", `sys/policies/acl/${name}`, { token: root, body: { policy: rules } });
  if (written.status !== 204) throw new Error(`the policy was answered ${written.status}`);
  return (await createToken(root, { policies: [name] })).client_token;
}

/** Creates a token and returns its `auth` part. */
export async function createToken(root: string, fields: Record<string, unknown> = {}) {
  const answer = await call("POST", "auth/token/create", { token: root, body: fields });
  if (answer.status !== 200) throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return bodyOf<{ auth: { client_token: string; accessor: string; lease_duration: number; policies: string[] } }>(
    answer,
  ).auth;
}
