import { type Client, type Json, member, send } from "../client.ts";
import type { Action, Kept, WriterClient } from "../writer-client.ts";

/** Uses that the token with counted uses begins with. */
export const USES = 1_000_000;
/** What a renewal asks for is a multiple of this, so that the look-up tells which one was the last. */
const RENEWAL_STEP_SECONDS = 3600;

/** A number of a writer that only grows: how it is written, and how it is read back. Nothing written yet reads as 0. */
interface Counter {
  readonly write: (writer: WriterClient, next: number) => ReturnType<WriterClient["ask"]>;
  readonly read: (root: Client, writer: string, kept: Kept) => Promise<number>;
}

/** Writes that replace what was there: the last one that was answered, or a later one, must be there afterwards. */
const COUNTERS: Readonly<Record<string, Counter>> = {
  policy: {
    write: (writer, n) => writer.ask("PUT", `v1/sys/policies/acl/${writer.name}`, policyOf(n)),
    async read(root, writer) {
      const body = await read(root, "GET", `v1/sys/policies/acl/${writer}`);
      return Number(/^# (\d+)/.exec(String(member(body, "data", "policy") ?? ""))?.[1] ?? 0);
    },
  },
  cubbyhole: {
    write: (writer, n) => writer.ask("PUT", "v1/cubbyhole/number", { value: n }, { token: writer.kept.maker.id }),
    async read({ place }, _, kept) {
      const body = await read({ place, token: kept.maker.id }, "GET", "v1/cubbyhole/number");
      return Number(member(body, "data", "value") ?? 0);
    },
  },
  uses: {
    write: (writer) => writer.ask("GET", "v1/auth/token/lookup-self", undefined, { token: writer.kept.counted }),
    async read(root, _, kept) {
      const body = await read(root, "POST", "v1/auth/token/lookup", { token: kept.counted });
      return USES - Number(member(body, "data", "num_uses"));
    },
  },
  renewals: {
    write: (writer, n) => {
      const fields = { token: writer.kept.renewed, increment: n * RENEWAL_STEP_SECONDS };
      return writer.ask("POST", "v1/auth/token/renew", fields);
    },
    async read(root, _, kept) {
      const body = await read(root, "POST", "v1/auth/token/lookup", { token: kept.renewed });
      const renewed = member(body, "data", "last_renewal_time") !== undefined;
      return renewed ? Math.ceil(Number(member(body, "data", "ttl")) / RENEWAL_STEP_SECONDS) : 0;
    },
  },
  "cloud role": {
    write: (writer, n) => writer.ask("POST", `v1/auth/cloud/role/${writer.name}`, { ...CLOUD_ROLE, token_ttl: n }),
    async read(root, writer) {
      const body = await read(root, "GET", `v1/auth/cloud/role/${writer}`);
      return Number(member(body, "data", "token_ttl") ?? 0);
    },
  },
  entity: {
    write: (writer, n) =>
      writer.ask("POST", `v1/identity/entity/name/${writer.name}`, { metadata: { number: String(n) } }),
    async read(root, writer) {
      const body = await read(root, "GET", `v1/identity/entity/name/${writer}`);
      return Number(member(body, "data", "metadata", "number") ?? 0);
    },
  },
};

const CLOUD_ROLE = { auth_type: "vm", bound_account_id: "111111111111" };

/** Writes of numbers. */
export const NUMBER_ACTIONS: readonly Action[] = Object.entries(COUNTERS).map(
  ([what, { write }]): Action =>
    (writer) =>
      writer.count(what, (next) => write(writer, next)),
);

/** Reads the number that the ledger calls `name` from the server. */
export function readNumber(root: Client, name: string, kept: ReadonlyMap<string, Kept>): Promise<number> {
  const at = name.indexOf(" ");
  const writer = name.slice(0, at);
  const own = kept.get(writer);
  const counter = COUNTERS[name.slice(at + 1)];
  if (!own || !counter) throw new Error("a number that nobody can read");
  return counter.read(root, writer, own);
}

/** Reads what may not be there yet. */
async function read(client: Client, method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await send(client, method, path, body);
  if (answer.status === 200 || answer.status === 404) return answer.body;
  throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}

/** A policy that says which write of it this was. */
function policyOf(number: number): { readonly policy: string } {
  return { policy: `# ${number}\npath "secret/${number}" { capabilities = ["read"] }` };
}
