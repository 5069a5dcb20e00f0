import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { accessorShard, shardNumbers } from "../../src/listing/accessor-shard.ts";
import { publishRecent } from "../../src/listing/updates/recent.ts";
import "./targets.ts";
import { ringAlarm } from "./calls.ts";
import { type Answer, bindings, call } from "./service.ts";
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
