import { createExecutionContext } from "cloudflare:test";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { app } from "../../../src/app/app.ts";
import { hourly } from "../../../src/app/cron.ts";
import { FOUND_AT_ONCE } from "../../../src/backup/part-format.ts";
import { MAX_TREES_OF_ALARM, prefixJob } from "../../../src/lease/prefix-revocation.ts";
import { ACCESSOR_SHARDS, MAX_ACCESSOR_SHARDS, shardCount } from "../../../src/listing/accessor-shards.ts";
import { revocationsOf, STEP, TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { listOpeningLeadMs } from "../../../src/system/copy-age.ts";
import { refreshInstallation } from "../../../src/system/installation.ts";
import { growLists } from "../../../src/tidy/grow-lists.ts";
import { holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { Meter } from "../../support/meter.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";
import { holdTidy, listsKnowAll } from "../../support/tidy.ts";
import { holdSweeps } from "../../support/trees.ts";
import { holdWalks, stepWalk } from "../../support/walks.ts";

/** Calls to objects that the platform lets one invocation make, with everything that they call meanwhile (the vendor's limits page). */
const PLATFORM_LIMIT = 10_000;
const TREES = 12;
/** Trees that one invocation calls at most, besides shards. */
const TREES_AT_MOST: Readonly<Record<string, number>> = {
  "step of a revocation": STEP,
  "part of a backup": FOUND_AT_ONCE,
  "steps of a revocation by prefix": MAX_TREES_OF_ALARM,
};
const ALONE = { no_parent: true, policies: ["default"], ttl: "8h" };

let root: string;
let meter: Meter;
let lead = 0;

beforeAll(async () => {
  // Ahead of the platform, so that alarms come when the test says so.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
  root = await initialized();
  lead = listOpeningLeadMs(bindings);
  for (const role of ["first", "second"]) {
    await post(`auth/token/roles/${role}`, { orphan: true, allowed_policies: "default" });
  }
  meter = new Meter();
});

beforeEach(() => {
  holdSweeps();
  holdTidy();
  holdWalks();
  holdAlarmsOf(TokenRevocations);
});

afterAll(() => {
  meter.stop();
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const get = (path: string) => call("GET", path, { token: root });

const scrape = async () => {
  const request = new Request("http://grove.test/v1/sys/metrics?format=prometheus", {
    headers: { "X-Vault-Token": root },
  });
  const answer = await app.fetch(request, bindings, createExecutionContext());
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("vault_token_count")]);
};

/** Makes tokens against a role, each in a tree of its own. */
async function makeTokens(role: string): Promise<void> {
  await Promise.all(Array.from({ length: TREES }, () => post(`auth/token/create/${role}`, ALONE)));
  await listsKnowAll();
}

/** Calls to objects. */
interface Calls {
  readonly all: number;
  /** Those that ask a shard of accessors. A tree may notify its shard beside any of them, and an isolate read the installation. */
  readonly shards: number;
}

/** Calls that are made until nothing of `work` goes on. */
async function callsOf(work: () => Promise<unknown>): Promise<Calls> {
  await meter.quiet(60);
  meter.reset();
  await work();
  await meter.quiet(60);
  const methods = meter.methods();
  return {
    all: methods.length,
    shards: methods.filter((method) => /^AccessorShard\.(?!applyUpdates)/.test(method)).length,
  };
}

/** What goes over all shards, or ends very many tokens at once. @param role whose tokens are ended. */
async function widest(role: string): Promise<Record<string, Calls>> {
  const filter = { path_prefix: `auth/token/create/${role}` };
  const calls: Record<string, Calls> = {
    "list of accessors": await callsOf(() => get("auth/token/accessors?list=true")),
    "page of the inventory": await callsOf(() => get("sys/tokens?limit=1000")),
    search: await callsOf(() => get("sys/tokens?search=default")),
    summary: await callsOf(() => get("sys/tokens/summary?group_by=policy")),
    "what has ended": await callsOf(() => get("sys/tokens/ended?limit=1000")),
    leases: await callsOf(() => get("sys/leases/lookup/auth?list=true")),
    metrics: await callsOf(scrape),
    health: await callsOf(() => get("sys/ready")),
    doctor: await callsOf(() => get("sys/doctor")),
    "dry run": await callsOf(() => post("sys/tokens/revoke", filter)),
    // A step of a backup into the bucket is a part, too.
    "part of a backup": await callsOf(() => post("sys/backup/part")),
    "hourly run": await callsOf(() => hourly(bindings)),
  };
  const { count } = dataOf<{ count: number }>(await post("sys/tokens/revoke", filter));
  expect(count).toBe(TREES);
  await post("sys/tokens/revoke", { ...filter, dry_run: false, expected_count: count });
  const job = revocationsOf(bindings);
  calls["step of a revocation"] = await callsOf(() => ringAlarm(job));
  await post(`sys/leases/revoke-prefix/auth/token/create/${role}`);
  const walk = prefixJob(bindings, { mode: "revoke", prefix: `auth/token/create/${role}/` });
  calls["steps of a revocation by prefix"] = await callsOf(() => stepWalk(walk));
  return calls;
}

it("what goes over all shards stays below the platform's limit with as many shards as there can be", async () => {
  await makeTokens("first");
  const few = await widest("first");
  await growLists(bindings, Date.now(), 1);
  await refreshInstallation(bindings);
  vi.setSystemTime(Date.now() + lead + 1);
  await makeTokens("second");
  const many = await widest("second");
  const more = shardCount() - ACCESSOR_SHARDS;
  expect(more).toBe(4 * ACCESSOR_SHARDS);
  const atMost = Object.entries(many).map(([name, calls]) => {
    const ofShard = Math.max(0, (calls.all - (few[name]?.all ?? 0)) / more);
    const trees = TREES_AT_MOST[name] ?? 0;
    return [name, Math.ceil(calls.all + trees + ofShard * (MAX_ACCESSOR_SHARDS - shardCount()))] as const;
  });
  expect(atMost.filter(([, calls]) => calls >= PLATFORM_LIMIT)).toEqual([]);
  // They do go over all of them.
  for (const name of ["list of accessors", "page of the inventory", "search", "summary", "what has ended", "leases"]) {
    expect((many[name]?.shards ?? 0) - (few[name]?.shards ?? 0)).toBeGreaterThanOrEqual(more);
  }
});
