import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { ACCESSOR_SHARDS, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { Tables } from "../../../src/storage/tables.ts";
import { System } from "../../../src/system/system.ts";
import { NO_REPORT } from "../../../src/tidy/report.ts";
import {
  SHARD_CHECK_MIGRATIONS,
  type ShardCheck,
  ShardCheckStore,
  shardTidy,
  startShardChecks,
} from "../../../src/tidy/shard-tidy.ts";
import { Tidy } from "../../../src/tidy/tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { callsTo, failing } from "../../support/calls.ts";
import { Meter } from "../../support/meter.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import {
  checkShards,
  holdTidy,
  hourlyTidy,
  listedAccessors,
  listsKnowAll,
  shardTidyAlarm,
  unlist,
} from "../../support/tidy.ts";
import { holdInventory, holdSweeps, locate, loseToken } from "../../support/trees.ts";

const HOUR_MS = 3_600_000;

let root: string;
let clock = Date.now();

beforeEach(() => {
  holdSweeps();
  holdInventory();
  holdTidy();
  vi.useFakeTimers({ toFake: ["Date"] });
  later();
});
afterEach(() => vi.useRealTimers());

beforeAll(async () => {
  root = await initialized();
});

/** Everything made until now is old enough to be judged, and due. */
function later(): void {
  clock += 2 * HOUR_MS;
  vi.setSystemTime(clock);
}

const orphan = async () =>
  (await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["root"] } })).body.auth;

const alarmOf = (shard: number) =>
  runInDurableObject(shardTidy(bindings, shard), (_, { storage }) => storage.getAlarm());

it("the hourly run leaves accessors to the shards, whose own checks repair them, and adds up what they report", async () => {
  const tree = await orphan();
  const lost = await createToken(tree.client_token);
  const unlisted = await createToken(tree.client_token);
  await loseToken(lost.client_token);
  await unlist([unlisted.accessor]);
  later();
  const visits = callsTo(TokenTree, "tidy");
  expect(await hourlyTidy()).toMatchObject({ accessorsExamined: 0, accessorsRemoved: 0, treeSteps: 0 });
  expect(visits.calls).toEqual([]);
  expect(await Promise.all([0, ACCESSOR_SHARDS - 1].map(alarmOf))).toEqual([clock, clock]);

  await checkShards();
  const listed = await listedAccessors();
  expect(listed).toContain(unlisted.accessor);
  expect(listed).not.toContain(lost.accessor);
  // The next one begins with the next hourly run.
  expect(await alarmOf(3)).toBeNull();

  const checked = clock;
  later();
  const report = await hourlyTidy();
  expect(report).toMatchObject({ accessorsRemoved: 1, relisted: 1, failures: 0 });
  expect(report.accessorsExamined).toBeGreaterThanOrEqual(3);
  // Each check is added up once.
  later();
  expect(await hourlyTidy()).toMatchObject({ accessorsExamined: 0, accessorsRemoved: 0, relisted: 0 });
  const { background } = (await call("GET", "auth/token/tidy-status", { token: root })).body.data;
  expect(background).toEqual({
    shards: ACCESSOR_SHARDS,
    checked: ACCESSOR_SHARDS,
    since: new Date(checked).toISOString(),
    failures: 0,
    revived: 0,
  });
});

it("only a full set of good checks counts as having gone over everything", async () => {
  const cleaned = callsTo(System, "watermarksCleaned");
  const upTo = () => cleaned.calls.map(({ args: [, number] }) => number);
  const begins = async (shards?: number[]) => {
    later();
    await startShardChecks(bindings);
    await checkShards(shards);
    return clock;
  };
  const first = await begins();
  await hourlyTidy();
  const [known = 0] = upTo();
  expect(first - known).toBeGreaterThan(0);

  // The oldest of the last checks decides.
  await begins([0, 1, 2]);
  await hourlyTidy();
  expect(upTo().at(-1)).toBe(known);
  const tree = await orphan();
  await listsKnowAll();
  later();
  const down = failing(TokenTree, "tidy", "tree down");
  const shard = accessorShardNumber(tree.accessor);
  await checkShards([shard]);
  down.end();
  const calls = upTo().length;
  expect(await hourlyTidy()).toMatchObject({ failures: expect.any(Number) });
  expect(upTo()).toHaveLength(calls);

  const second = await begins();
  await hourlyTidy();
  expect(upTo().at(-1)).toBe(known + second - first);
});

it("a key term is free only when the checks of all shards have looked for it, and a report counts once", async () => {
  const stub = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    const store = new ShardCheckStore(new Tables(sql, SHARD_CHECK_MIGRATIONS, "shard_checks"));
    const check = (fields: Partial<ShardCheck> = {}): ShardCheck => ({
      ...{ startedAt: clock, finishedAt: clock, report: { ...NO_REPORT, swept: 1 }, aged: [1, 2], needed: [] },
      ...fields,
    });
    for (let shard = 0; shard < ACCESSOR_SHARDS; shard++) store.keep(shard, check());
    store.keep(3, check({ startedAt: clock + 1, aged: [1] }));
    store.keep(5, check({ startedAt: clock + 1, needed: [1] }));
    expect(store.together()).toMatchObject({ since: clock, aged: [1], needed: [1] });
    expect(store.takeReports().swept).toBe(ACCESSOR_SHARDS);
    store.keep(0, check());
    expect(store.takeReports().swept).toBe(0);
  });
});

it("continues where it was after a shard or the coordinator did not answer", async () => {
  const lost = await createToken((await orphan()).client_token);
  await loseToken(lost.client_token);
  later();
  await startShardChecks(bindings);
  const shard = accessorShardNumber(lost.accessor);
  failing(AccessorShard, "claims", "shard down", 1);
  await shardTidyAlarm(shard);
  expect(await alarmOf(shard)).toBe(clock + 30_000);
  const told = failing(Tidy, "shardChecked", "coordinator down", 1);
  for (let step = 0; told.calls.length === 0 && step < 20; step++) await shardTidyAlarm(shard);
  expect(await alarmOf(shard)).toBe(clock + 30_000);
  expect(await listedAccessors()).not.toContain(lost.accessor);
  await checkShards([shard]);
  expect(told.calls.map(({ args: [number, { report }] }) => [number, report.accessorsRemoved])).toEqual([
    [shard, 1],
    [shard, 1],
  ]);
});

it("an alarm that was lost is set again by the next hourly run, one that is set stays", async () => {
  await startShardChecks(bindings);
  failing(AccessorShard, "claims", "shard down", 2);
  for (const shard of [5, 6]) await shardTidyAlarm(shard);
  await runInDurableObject(shardTidy(bindings, 5), (_, { storage }) => storage.deleteAlarm());
  const planned = await alarmOf(6);
  vi.setSystemTime(clock + 60_000);
  await startShardChecks(bindings);
  expect(await alarmOf(5)).not.toBeNull();
  expect(await alarmOf(6)).toBe(planned);
});

it("a shard pays for a page at most two looks at each token and no write; the check itself one row", async () => {
  const tree = await orphan();
  await Promise.all(Array.from({ length: 30 }, () => createToken(tree.client_token)));
  await listsKnowAll();
  later();
  await startShardChecks(bindings);
  await checkShards();
  later();
  await startShardChecks(bindings);
  const shard = accessorShardNumber(tree.accessor);
  const size = (await listedAccessors()).filter((accessor) => accessorShardNumber(accessor) === shard).length;
  const meter = new Meter();
  try {
    await shardTidyAlarm(shard);
    const costs = await meter.costs();
    expect(costs["AccessorShard.claims"]).toMatchObject({ times: 1, rowsWritten: 0 });
    // Of each token its row and, in a shard that has records of ends, the place where that of this token would be.
    // A shard that left memory meanwhile, as on a slow machine, reads once how many records of ends it has.
    const counts = 4;
    expect(costs["AccessorShard.claims"]?.rowsRead).toBeGreaterThanOrEqual(size);
    expect(costs["AccessorShard.claims"]?.rowsRead).toBeLessThanOrEqual(2 * size + counts);
    expect(costs["AccessorShard.describeAnew"]).toBeUndefined();
    expect(costs["AccessorShard.remove"]).toBeUndefined();
  } finally {
    meter.stop();
  }
});

it("a tree that every shard lists goes through its rows once in an hour", async () => {
  const tree = await orphan();
  await Promise.all(Array.from({ length: 100 }, () => createToken(tree.client_token)));
  await listsKnowAll();
  later();
  await startShardChecks(bindings);
  await checkShards();
  later();
  await startShardChecks(bindings);
  const meter = new Meter();
  try {
    await checkShards();
    const { stub, row } = await locate(tree.client_token);
    expect(row).toBeGreaterThan(0);
    const id = stub.id.toString();
    const walks = await meter.rowsRead("TokenTree.tidy", id);
    // A walk reads about six rows a token; the question about each accessor one more.
    expect(walks).toBeGreaterThan(100);
    expect(walks).toBeLessThan(12 * 101);
  } finally {
    meter.stop();
  }
});
