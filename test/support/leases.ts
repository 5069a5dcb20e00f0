import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { AccessorShard } from "../../src/listing/accessor-shard.ts";
import { accessorShard, shardNumbers } from "../../src/listing/accessor-shards.ts";
import { publishRecent } from "../../src/listing/updates/publish.ts";
import "./targets.ts";
import { HELD } from "../../src/lease/store.ts";
import { ringAlarm } from "./calls.ts";
import { type Answer, bindings, call } from "./service.ts";
import { changeRows, deleteRows, insertRows } from "./storage-writer.ts";
import { isCreated, locate } from "./trees.ts";

/** Registers a lease for `holder` and returns the whole answer. */
export function register(root: string, holder: string, fields: Record<string, unknown> = {}): Promise<Answer> {
  const body = { token: holder, path: "db/creds/app", ttl: "1h", target: "https://db.example.com/revoke", ...fields };
  return call("POST", "sys/leases/register", { token: root, body });
}

/** Registers a lease for `holder` and returns its id. */
export async function leaseFor(root: string, holder: string, fields: Record<string, unknown> = {}): Promise<string> {
  const answer = await register(root, holder, fields);
  if (answer.status !== 200) throw new Error(`register answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body.lease_id as string;
}

/** What the tree of `token` stores of leases, oldest first. */
export async function leaseRows(token: string) {
  const { stub } = await locate(token);
  return runInDurableObject(stub, (_, state) =>
    isCreated(state.storage.sql)
      ? state.storage.sql
          .exec<{ state: number; attempts: number; attempt_at: number; error: string | null; expires_at: number }>(
            "SELECT state, attempts, attempt_at, error, expires_at FROM leases ORDER BY row",
          )
          .toArray()
      : [],
  );
}

/** All leases in the tree of `token` end at `end` (ms) and no earlier. */
export async function endLeasesAt(token: string, end: number): Promise<void> {
  await changeRows((await locate(token)).stub, "leases", { expires_at: end });
}

/** The tree of `token` holds leases of the tokens in these rows and no others, whether there are such tokens or not. */
export async function holdLeasesOf(root: string, token: string, holders: readonly number[], end: number) {
  // The table comes with the first lease.
  await leaseFor(root, token);
  const { stub } = await locate(token);
  await deleteRows(stub, "leases");
  await insertRows(stub, "leases", leasesOf(holders, end));
}

/** Adds so many leases of `token`, which has one, before all others of its tree. They never end. */
export async function addLeasesWithoutData(token: string, count: number): Promise<void> {
  const { stub, row } = await locate(token);
  await insertRows(stub, "leases", leasesOf(new Array(count).fill(row), Number.MAX_SAFE_INTEGER));
}

/** Rows of leases without data, of the tokens in these rows. */
function leasesOf(holders: readonly number[], end: number) {
  const same = { tail: new Uint8Array(1), path: "kv/x", state: HELD, expires_at: end, granted_ttl: 3600 };
  const unsent = { attempts: 0, attempt_at: 0, record: "{}" };
  return holders.map((holder, at) => ({ row: at + 1, token: holder, ...same, ...unsent }));
}

/** The tree of `token` has lost all its rows. */
export async function loseTree(token: string): Promise<void> {
  const { stub } = await locate(token);
  for (const table of ["leases", "tokens"]) await deleteRows(stub, table);
}

/** Lists leases in a shard as given up, which end at the ms `from` to `to`. */
export async function giveUpMany(shard: DurableObjectStub<AccessorShard>, from: number, to: number): Promise<void> {
  await shard.addLease("x", "cap/x");
  const ends = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const rows = ends.map((end) => ({ tail: `tail${end}`, path: "cap/x", expires_at: end, error: `no ${end}` }));
  await insertRows(shard, "leases", rows);
}

/** A shard lists no leases any more. */
export const loseListedLeases = (shard: DurableObjectStub<AccessorShard>) => deleteRows(shard, "leases");

/** Runs the alarm of the tree of `token` once, as the platform would. */
export async function runAlarm(token: string): Promise<void> {
  const { stub } = await locate(token);
  await ringAlarm(stub);
}

/** Moves the clock. Alarms stay where they are: `runAlarm` does their work. */
export function advance(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1000);
}

/** Paths of everything that the index of all shards holds, sorted. */
export async function indexedPaths(kind: "token" | "secret"): Promise<string[]> {
  await publishRecent(bindings, Date.now());
  const paths: string[] = [];
  for (const number of shardNumbers()) {
    const page = await accessorShard(bindings, number).leasesBelow(kind, "", null, 1000);
    paths.push(...page.leases.map(({ path }) => path));
  }
  return paths.sort();
}
