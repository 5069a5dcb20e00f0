/**
 * Replays recorded exchanges: each step is a request and the answer that it must get. Answers are made comparable first:
 * what a step captures is named, ids and times become placeholders, remaining lifetimes may differ by a few seconds.
 */
export interface Exchange {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Absent: the root token. null: none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of a variable -> dotted path in the answer. */
  readonly capture?: Readonly<Record<string, string>>;
  readonly match?: "status";
  readonly expect: { readonly status: number; readonly body: unknown };
}

/** How the replay reaches the server. `path` is without the base path. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

const VOLATILE: Readonly<Record<string, string>> = {
  request_id: "<id>",
  creation_time: "<unix>",
  issue_time: "<time>",
  expire_time: "<time>",
  last_renewal: "<time>",
  last_renewal_time: "<unix>",
  uuid: "<id>",
  wrapping_accessor: "<id>",
  last_updated_time: "<time>",
  last_update_time: "<time>",
  expiration_time: "<time>",
  role_id: "<id>",
};
/** Keys that only the recorded server has. */
const IGNORED = new Set([
  "allow_slashes_in_identity_templates",
  "allow_wildcards_in_identity_templates",
  "cas_required",
  "modified",
  "version",
  "expiration",
]);
const SECRET = new Set(["accessor", "client_token", "wrapped_accessor", "token"]);
const CLOSE = new Set(["ttl", "lease_duration"]);
const UNORDERED = new Set(["keys", "policies", "token_policies"]);
const SECONDS_APART = 3;

type Variables = Record<string, string>;

/** Sends the steps in order. Returns for each step its name and what differs from the record; none when it agrees. */
export async function replay(
  send: Send,
  root: string,
  exchanges: readonly Exchange[],
): Promise<{ readonly name: string; readonly differences: readonly string[] }[]> {
  const variables: Variables = { root };
  const results: { name: string; differences: string[] }[] = [];
  for (const step of exchanges) {
    const { status, body } = await sendStep(send, step, variables);
    for (const [name, path] of Object.entries(step.capture ?? {})) variables[name] = String(dig(body, path));
    const differences = status === step.expect.status ? [] : [`status: want ${step.expect.status} got ${status}`];
    if (step.match !== "status") differences.push(...compare(step.expect.body, normalise(body, variables, ""), ""));
    results.push({ name: step.name, differences });
  }
  return results;
}

async function sendStep(send: Send, step: Exchange, variables: Variables) {
  const headers = new Headers({ "X-Vault-Request": "true", "Content-Type": "application/json" });
  const token = step.token === undefined ? (variables.root ?? "") : step.token;
  if (token !== null) headers.set("X-Vault-Token", substitute(token, variables) as string);
  for (const [name, value] of Object.entries(step.headers ?? {}))
    headers.set(name, substitute(value, variables) as string);
  const body = step.raw ?? (step.body === undefined ? null : JSON.stringify(substitute(step.body, variables)));
  const response = await send(substitute(step.path, variables) as string, { method: step.method, headers, body });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

function substitute(value: unknown, variables: Variables): unknown {
  if (typeof value === "string") return value.replace(/\$\{(\w+)\}/g, (_, name: string) => variables[name] ?? "");
  if (Array.isArray(value)) return value.map((item) => substitute(item, variables));
  if (isObject(value)) return mapValues(value, (item) => substitute(item, variables));
  return value;
}

function normalise(value: unknown, variables: Variables, key: string): unknown {
  if (isObject(value)) {
    const kept = Object.fromEntries(Object.entries(value).filter(([name]) => !IGNORED.has(name)));
    return mapValues(kept, (item, name) => normalise(item, variables, name));
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => normalise(item, variables, ""));
    return UNORDERED.has(key) && items.every((item) => typeof item === "string") ? items.sort() : items;
  }
  if (VOLATILE[key] && value !== null) return VOLATILE[key];
  if (SECRET.has(key) && typeof value === "string" && value !== "" && !Object.values(variables).includes(value)) {
    return `<${key}>`;
  }
  if (CLOSE.has(key) && typeof value === "number" && value !== 0) return { about: Math.round(value) };
  return typeof value === "string" ? normaliseText(value, variables) : value;
}

function normaliseText(text: string, variables: Variables): string {
  let result = text;
  const byLength = Object.entries(variables).sort(([, a], [, b]) => b.length - a.length);
  for (const [name, value] of byLength) if (value.length > 7) result = result.replaceAll(value, `\${${name}}`);
  return result
    .replace(/^1 error occurred:\n\t\* (.*)\n\n$/s, "$1")
    .replace(/OpenBao|Vault/g, "<server>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/g, "<time>")
    .replace(/^(auth\/[^/]+\/(?:create|login)[^ ]*?\/)[A-Za-z0-9]{20,}$/, "$1<hash>");
}

function compare(want: unknown, got: unknown, path: string): string[] {
  if (isObject(want) && isObject(got)) {
    if (typeof want.about === "number" && typeof got.about === "number") {
      return Math.abs(want.about - got.about) <= SECONDS_APART ? [] : [`${path}: want ${want.about} got ${got.about}`];
    }
    return [...new Set([...Object.keys(want), ...Object.keys(got)])].sort().flatMap((key) => {
      if (!(key in got)) return [`${path}.${key}: missing`];
      if (!(key in want)) return [`${path}.${key}: extra`];
      return compare(want[key], got[key], `${path}.${key}`);
    });
  }
  if (isNothing(want) && isNothing(got)) return [];
  return JSON.stringify(want) === JSON.stringify(got)
    ? []
    : [`${path}: want ${JSON.stringify(want)} got ${JSON.stringify(got)}`];
}

function dig(value: unknown, path: string): unknown {
  return path.split(".").reduce((inner, part) => (inner as Record<string, unknown> | null)?.[part], value);
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapValues(
  object: Record<string, unknown>,
  map: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
