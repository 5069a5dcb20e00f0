import { ask, type Client, type Json, member, sendUntilServed } from "../../servers/client.ts";
import type { Action, Writer, WriterTokens } from "../writer.ts";

/** Initial `num_uses` of the token whose uses are counted. */
export const USES = 1_000_000;
/** Renewal number n requests n times this increment, so that the TTL identifies the last stored renewal. */
const RENEWAL_STEP_SECONDS = 3600;
const CLOUD_ROLE = { auth_type: "vm", bound_account_id: "111111111111" };

/** Writes an increasing number and reads it back. The number is 0 before the first write. */
interface Counter {
  readonly write: (writer: Writer, next: number) => Promise<Json>;
  readonly read: (root: Client, writer: string, kept: WriterTokens) => Promise<number>;
}

/** Writes that replace a value. After a kill, the stored value must be from the last answered write or a later one. */
const COUNTERS: Readonly<Record<string, Counter>> = {
  policy: {
    write: (writer, n) => {
      const policy = `# ${n}\npath "secret/${n}" { capabilities = ["read"] }`;
      return writer.ask("PUT", `v1/sys/policies/acl/${writer.name}`, { policy });
    },
    read: async (root, writer) => {
      const policy = await read(root, `v1/sys/policies/acl/${writer}`, "policy");
      return Number(/^# (\d+)/.exec(String(policy))?.[1] ?? 0);
    },
  },
  cubbyhole: {
    write: (writer, n) => writer.ask("PUT", "v1/cubbyhole/number", { value: n }, { token: writer.kept.maker.id }),
    read: async ({ url }, _, kept) => Number(await read({ url, token: kept.maker.id }, "v1/cubbyhole/number", "value")),
  },
  uses: {
    write: (writer) => writer.ask("GET", "v1/auth/token/lookup-self", undefined, { token: writer.kept.counted }),
    read: async (root, _, kept) => USES - Number(member(await lookUp(root, kept.counted), "num_uses")),
  },
  renewals: {
    write: (writer, n) => {
      const fields = { token: writer.kept.renewed, increment: n * RENEWAL_STEP_SECONDS };
      return writer.ask("POST", "v1/auth/token/renew", fields);
    },
    read: async (root, _, kept) => {
      const found = await lookUp(root, kept.renewed);
      if (member(found, "last_renewal_time") === undefined) return 0;
      return Math.ceil(Number(member(found, "ttl")) / RENEWAL_STEP_SECONDS);
    },
  },
  "cloud role": {
    write: (writer, n) => writer.ask("POST", `v1/auth/cloud/role/${writer.name}`, { ...CLOUD_ROLE, token_ttl: n }),
    read: async (root, writer) => Number(await read(root, `v1/auth/cloud/role/${writer}`, "token_ttl")),
  },
  entity: {
    write: (writer, n) =>
      writer.ask("POST", `v1/identity/entity/name/${writer.name}`, { metadata: { number: String(n) } }),
    read: async (root, writer) => Number(await read(root, `v1/identity/entity/name/${writer}`, "metadata", "number")),
  },
};

/** Actions that increase a number. */
export const NUMBER_ACTIONS: readonly Action[] = Object.entries(COUNTERS).map(
  ([what, { write }]): Action =>
    (writer) =>
      writer.count(what, (next) => write(writer, next)),
);

/** Reads the number `name` of the ledger from the server. */
export function readNumber(root: Client, name: string, kept: ReadonlyMap<string, WriterTokens>): Promise<number> {
  const [writer = "", ...what] = name.split(" ");
  const own = kept.get(writer);
  const counter = COUNTERS[what.join(" ")];
  if (!own || !counter) throw new Error(`unknown number: ${name}`);
  return counter.read(root, writer, own);
}

/** Reads a path and returns a member of its answer; 0 for status 404 or a missing member. */
async function read(client: Client, path: string, ...names: readonly string[]): Promise<unknown> {
  const { status, body } = await sendUntilServed(client, "GET", path);
  if (status !== 200 && status !== 404) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return member(body, "data", ...names) ?? 0;
}

async function lookUp(root: Client, token: string): Promise<unknown> {
  return member(await ask(root, "POST", "v1/auth/token/lookup", { token }), "data");
}
