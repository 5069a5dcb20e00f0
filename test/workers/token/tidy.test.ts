import { createExecutionContext, createScheduledController, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CronTrigger } from "../../../src/app/cron.ts";
import worker from "../../../src/index.ts";
import { HELD } from "../../../src/lease/store.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { LIST_PAGE } from "../../../src/tidy/check-lists.ts";
import { NO_REPORT, type TidyReport } from "../../../src/tidy/report.ts";
import { TIDY_PAUSE_MS, tidyOf } from "../../../src/tidy/tidy.ts";
import { decodeStoredId, routedIdText } from "../../../src/token/ids.ts";
import { treeAt } from "../../../src/token/tree-stub.ts";
import { CUSTOM_ID_SHARDS, customIdsShard } from "../../../src/tree/custom-ids.ts";
import type { TreePosition } from "../../../src/tree/tidy/tidy-step.ts";
import { TIDY_ROWS } from "../../../src/tree/tidy/tree-tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { failure, initializedAlone } from "../../support/audit-store.ts";
import { atCalls, failing } from "../../support/calls.ts";
import { type Cost, costOf } from "../../support/costs.ts";
import { putStrayValues } from "../../support/cubbyholes.ts";
import { holdLeasesOf } from "../../support/leases.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf } from "../../support/service.ts";
import { deleteRows } from "../../support/storage-writer.ts";
import { holdTidy, listAgain, listedAccessors, listNonsense, tidyAlarm, tidyNow, unlist } from "../../support/tidy.ts";
import {
  endUnnoticed,
  growTree,
  holdInventory,
  holdSweeps,
  isCreated,
  locate,
  loseToken,
  runAlarm,
  tokenRows,
} from "../../support/trees.ts";

const HOUR_MS = 3_600_000;

// Runs go through every tree of this file, which takes a while on a busy machine.

let root: string;
let clock: number;

beforeEach(holdSweeps);
beforeEach(holdInventory);
beforeEach(holdTidy);

beforeAll(async () => {
  root = await initializedAlone();
  clock = Date.now();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  clock += HOUR_MS;
  vi.setSystemTime(clock);
});

afterEach(() => vi.useRealTimers());

/** Everything made until now is old enough to be judged. */
function later(): void {
  clock += HOUR_MS;
  vi.setSystemTime(clock);
}

const orphan = async (fields: Record<string, unknown> = {}) =>
  (await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["root"], ...fields } })).body.auth;
const child = (token: string, fields: Record<string, unknown> = {}) => createToken(token, fields);
const self = (token: string) => call("GET", "auth/token/lookup-self", { token });
const keep = (token: string, path: string) => call("POST", `cubbyhole/${path}`, { token, body: { a: "b" } });

const cubbyholeRows = async (token: string) => (await rowsOf((await locate(token)).stub, "cubbyhole")).length;

async function customIds(): Promise<string[]> {
  const shards = Array.from({ length: CUSTOM_ID_SHARDS }, (_, number) => customIdsShard(bindings, number));
  return (await Promise.all(shards.map((shard) => shard.page("", 1000)))).flat().map(({ key }) => key);
}

/** What a run repaired, without what it looked at. */
function repairs(report: TidyReport): Partial<TidyReport> {
  const { accessorsExamined: _, customIdsExamined: _2, treeSteps: _3, ...done } = report;
  return done;
}

const { accessorsExamined: _, customIdsExamined: _2, treeSteps: _3, ...NOTHING } = NO_REPORT;

describe("what tidy repairs", () => {
  it("finds nothing in a healthy installation, and changes nothing", async () => {
    const parent = (await orphan()).client_token;
    await keep(parent, "x");
    await child((await child(parent)).client_token);
    await call("POST", "auth/token/create", { token: root, body: { id: "healthy-custom-id" } });
    later();
    const before = await listedAccessors();
    const ids = await customIds();
    expect(repairs(await tidyNow())).toEqual(NOTHING);
    expect(await listedAccessors()).toEqual(before);
    expect(await customIds()).toEqual(ids);
    expect(await cubbyholeRows(parent)).toBe(1);
  });

  it("repairs each kind of damage exactly, while requests are served", async () => {
    const tree = (await orphan()).client_token;
    const lost = await child(tree);
    const parent = await child(tree);
    const leaf = await child(parent.client_token);
    const unlisted = await child(tree);
    const expired = await child(tree, { ttl: "5h" });
    const revoked = await child(tree, { ttl: "5h" });
    const belowRevoked = await child(revoked.client_token, { ttl: "5h" });
    const custom = (await call("POST", "auth/token/create", { token: root, body: { id: "lost-id" } })).body.auth;
    const working = (await orphan()).client_token;
    await keep(lost.client_token, "its/1");
    await keep(lost.client_token, "its/2");
    await keep(leaf.client_token, "kept");
    const healthy = await listedAccessors();
    const idsBefore = await customIds();
    later();
    const young = await child(tree);
    clock += 60_000;
    vi.setSystemTime(clock);

    // Tokens without a row: a leaf, a parent, one that is being created, one with a custom id.
    for (const token of [lost, parent, young]) await loseToken(token.client_token);
    const { treeId, row } = decodeStoredId(custom.accessor) ?? { treeId: "", row: 0 };
    await deleteRows(bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.idFromString(treeId)), "tokens", { row });
    // Entries of nobody: of a row that never was, and one that is no accessor.
    await putStrayValues(tree, [77]);
    await listNonsense(lost.accessor);
    // A token that is in no list.
    await unlist([unlisted.accessor]);
    // Dead tokens that nothing sweeps.
    await endUnnoticed(expired.client_token, clock - 1);
    await endUnnoticed(revoked.client_token, "revoked");

    const made: string[] = [];
    const report = await tidyNow(async () => {
      expect((await self(working)).status).toBe(200);
      expect((await self(leaf.client_token)).status).toBe(200);
      expect((await keep(working, `during/${made.length}`)).status).toBe(204);
      made.push((await child(working)).accessor);
    });

    expect(repairs(report)).toEqual({
      ...NOTHING,
      accessorsRemoved: 4,
      orphaned: 1,
      relisted: 1,
      // The two, and the child of one.
      swept: 3,
      cubbyholeEntries: 3,
      customIdsRemoved: 1,
    });
    const gone = [lost, parent, expired, revoked, belowRevoked, custom].map(({ accessor }) => accessor);
    const expected = [...healthy.filter((accessor) => !gone.includes(accessor)), young.accessor, ...made];
    const listed = await listedAccessors();
    expect(expected.filter((accessor) => !listed.includes(accessor))).toEqual([]);
    expect(listed).not.toContain("not an accessor");
    for (const accessor of gone) expect(listed).not.toContain(accessor);
    expect(await customIds()).toHaveLength(idsBefore.length - 1);
    expect((await self(leaf.client_token)).body.data.orphan).toBe(true);
    expect((await call("GET", "cubbyhole/kept", { token: leaf.client_token })).body.data).toEqual({ a: "b" });
    expect(await cubbyholeRows(tree)).toBe(1);
    expect((await self(unlisted.client_token)).status).toBe(200);
    expect((await call("POST", "auth/token/create", { token: root, body: { id: "lost-id" } })).status).toBe(200);

    // Only what was too young is left, and nothing after that.
    later();
    expect(repairs(await tidyNow())).toMatchObject({
      accessorsRemoved: 1,
      relisted: 0,
      orphaned: 0,
      cubbyholeEntries: 0,
    });
    expect(await listedAccessors()).not.toContain(young.accessor);
    expect(repairs(await tidyNow())).toEqual(NOTHING);
  });

  it("100 parents without a row leave their children, as orphans", async () => {
    const tree = await orphan();
    const parents = await Promise.all(Array.from({ length: 100 }, () => child(tree.client_token)));
    const children = await Promise.all(parents.map(({ client_token }) => child(client_token)));
    const before = await listedAccessors();
    await Promise.all(parents.map(({ client_token }) => loseToken(client_token)));
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, accessorsRemoved: 100, orphaned: 100 });
    const gone = new Set(parents.map(({ accessor }) => accessor));
    expect(await listedAccessors()).toEqual(before.filter((accessor) => !gone.has(accessor)));
    for (const { client_token } of children.slice(0, 3)) expect((await self(client_token)).body.data.orphan).toBe(true);
  });

  it("of 14 cubbyholes 4 have no token", async () => {
    const tree = (await orphan()).client_token;
    await Promise.all(Array.from({ length: 10 }, async () => keep((await child(tree)).client_token, "x")));
    await putStrayValues(tree, [1, 2, 3, 4]);
    expect(await cubbyholeRows(tree)).toBe(14);
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, cubbyholeEntries: 4 });
    expect(await cubbyholeRows(tree)).toBe(10);
  });

  it("a cubbyhole of nobody that is larger than a step goes in several", async () => {
    const tree = (await orphan()).client_token;
    await keep(tree, "x");
    await putStrayValues(
      tree,
      Array.from({ length: 1200 }, (_, i) => 5 + (i % 2)),
    );
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, cubbyholeEntries: 1200 });
    expect(await cubbyholeRows(tree)).toBe(1);
  });

  it("leases of tokens that are gone are ended, those of others are not", async () => {
    const tree = (await orphan()).client_token;
    const { row } = await locate(tree);
    const strays = Array.from({ length: 1200 }, (_, i) => 5 + (i % 2));
    await holdLeasesOf(root, tree, [row, row, ...strays], clock + 10 * HOUR_MS);
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, leasesEnded: 1200 });
    const held = (await rowsOf((await locate(tree)).stub, "leases")).filter(({ state }) => state === HELD);
    expect(held.map((lease) => lease.row)).toEqual([1, 2]);
  });

  it("a tree of which nothing is listed is found again when one of its tokens is", async () => {
    const tree = await orphan();
    const below = await child(tree.client_token);
    await unlist([tree.accessor, below.accessor]);
    later();
    expect(repairs(await tidyNow())).toEqual(NOTHING);
    expect((await self(below.client_token)).status).toBe(200);
    const next = await child(below.client_token);
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, relisted: 2 });
    const listed = await listedAccessors();
    for (const { accessor } of [tree, below, next]) expect(listed).toContain(accessor);
  });

  it("a tree that has a custom id is found through it", async () => {
    const made = await call("POST", "auth/token/create-orphan", { token: root, body: { id: "finds-its-tree" } });
    await unlist([made.body.auth.accessor]);
    later();
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, relisted: 1 });
    expect(await listedAccessors()).toContain(made.body.auth.accessor);
  });

  it("a sweep alarm that was lost is set again", async () => {
    const tree = (await orphan({ ttl: "5h" })).client_token;
    await child(tree, { ttl: "6h" });
    const { stub } = await locate(tree);
    await runAlarm(stub);
    const alarmOf = () => runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    const due = await alarmOf();
    expect(due).not.toBeNull();
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm());
    later();
    await tidyNow();
    expect(await alarmOf()).toBe(due);
  });
});

describe("runs", () => {
  const tidy = () => tidyOf(bindings);
  const status = async () => (await call("GET", "auth/token/tidy-status", { token: root })).body.data;
  const alarmAt = () => runInDurableObject(tidy(), (_, { storage }) => storage.getAlarm());
  const loseAlarm = () => runInDurableObject(tidy(), (_, { storage }) => storage.deleteAlarm());
  const post = () => call("POST", "auth/token/tidy", { token: root });
  const cron = () => worker.scheduled(createScheduledController(), bindings);

  async function finish(): Promise<void> {
    for (let round = 0; (await tidy().status()).running && round < 500; round++) await tidyAlarm();
  }

  it("the first is accepted, the second refused while it is in progress, a third accepted after its end", async () => {
    const first = await post();
    expect([first.status, first.body.data, first.body.warnings]).toEqual([
      202,
      null,
      [
        "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.",
      ],
    ]);
    for (const second of await Promise.all([post(), post()])) {
      expect([second.status, second.body.data, second.body.warnings]).toEqual([
        200,
        null,
        ["Tidy operation already in progress."],
      ]);
    }
    await finish();
    expect((await post()).status).toBe(202);
    await finish();
  });

  it("of several at once one begins a run", async () => {
    const answers = await Promise.all([post(), post(), post()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 202]);
    await finish();
  });

  it("progress and the last result can be read by who may", async () => {
    await post();
    expect(await status()).toMatchObject({ state: "running", running: { accessors_examined: 0 } });
    await tidyAlarm();
    const { running } = await status();
    expect(Number(running?.accessors_examined)).toBeGreaterThan(0);
    await finish();
    expect(await status()).toMatchObject({
      state: "finished",
      running: null,
      last: { time_started: new Date(clock).toISOString(), failures: 0 },
    });
    const plain = (await createToken(root, { policies: ["default"] })).client_token;
    for (const [method, path] of [
      ["POST", "tidy"],
      ["GET", "tidy-status"],
    ] as const) {
      expect((await call(method, `auth/token/${path}`, { token: plain })).status).toBe(403);
    }
    expect((await call("GET", "auth/token/tidy", { token: root })).status).toBe(405);
  });

  it("begin by the cron trigger, and by nothing else", async () => {
    // No alarm begins one, also not one that an earlier release has planned.
    expect(await alarmAt()).toBeNull();
    await tidyAlarm();
    const { last } = await tidy().status();
    expect(await status()).toMatchObject({ state: "finished", running: null });
    later();
    await cron();
    const time_started = new Date(clock).toISOString();
    expect(await status()).toMatchObject({ state: "running", running: { time_started } });
    expect((await tidy().status()).last).toEqual(last);
    expect(await alarmAt()).toBe(clock);
    await finish();
    expect(await status()).toMatchObject({ state: "finished", last: { time_started, failures: 0 } });
    expect(await alarmAt()).toBeNull();
  });

  it("begin by the cron of a server of one's own as well", async () => {
    later();
    const answer = await new CronTrigger(createExecutionContext(), bindings).fetch(new Request("http://localhost/"));
    expect([answer.status, answer.body]).toEqual([204, null]);
    expect(await status()).toMatchObject({ running: { time_started: new Date(clock).toISOString() } });
    await finish();
  });

  it("continue undisturbed when the cron triggers while one is under way, and get back an alarm that was lost", async () => {
    await post();
    await tidyAlarm();
    const { running } = await tidy().status();
    const next = clock + TIDY_PAUSE_MS;
    clock += 60_000;
    vi.setSystemTime(clock);
    await Promise.all([cron(), cron()]);
    expect((await tidy().status()).running).toEqual(running);
    expect(await alarmAt()).toBe(next);
    for (const again of [cron, post]) {
      await loseAlarm();
      await again();
      expect(await alarmAt()).toBe(clock);
    }
    await finish();
    expect((await tidy().status()).last).toMatchObject({ number: running?.number, startedAt: running?.startedAt });
  });

  it("begin once when the cron triggers twice at the same moment", async () => {
    const before = (await tidy().status()).last?.number ?? 0;
    await Promise.all([cron(), cron()]);
    await finish();
    expect((await tidy().status()).last?.number).toBe(before + 1);
  });

  it("continues where it was after a shard did not answer", async () => {
    const lost = await child((await orphan()).client_token);
    await loseToken(lost.client_token);
    later();
    await post();
    failing(AccessorShard, "claims", "shard down", 1);
    await tidyAlarm();
    expect(await alarmAt()).toBe(clock + 30_000);
    expect((await tidy().status()).running).toMatchObject({ report: { accessorsExamined: 0 } });
    await finish();
    expect((await tidy().status()).last).toMatchObject({ report: { accessorsRemoved: 1 } });
  });

  it("a tree that fails keeps no other untidy", async () => {
    const bad = await orphan();
    const { treeId } = await locate(bad.client_token);
    const lost = await child((await orphan()).client_token);
    await loseToken(lost.client_token);
    later();
    atCalls(TokenTree, "tidy", ({ id, proceed }) => {
      if (id === treeId) throw new Error("tree down");
      return proceed();
    });
    expect(repairs(await tidyNow())).toEqual({ ...NOTHING, accessorsRemoved: 1, failures: 1 });
    expect(await listedAccessors()).toContain(bad.accessor);
  });

  it("what is swept while it comes on the list again does not stay there", async () => {
    const tree = (await orphan()).client_token;
    const ending = await child(tree);
    await unlist([ending.accessor]);
    later();
    const { stub, row } = await locate(ending.client_token);
    atCalls(AccessorShard, "relist", async ({ args: [tokens], proceed }) => {
      if (tokens.some(({ accessor }) => accessor === ending.accessor)) await loseToken(ending.client_token);
      return proceed();
    });
    expect((await tidyNow()).relisted).toBe(1);
    expect((await tokenRows(stub)).map((token) => token.row)).not.toContain(row);
    expect(await listedAccessors()).not.toContain(ending.accessor);
  });

  it("what a tree of the release before sends of a token is not taken for an entry", async () => {
    const { accessor } = await orphan();
    await unlist([accessor]);
    later();
    const list = accessorShard(bindings, accessorShardNumber(accessor));
    expect(await list.relist([{ accessor, path: "auth/token/create-orphan" }])).toBe(0);
    expect(await listedAccessors()).not.toContain(accessor);
  });

  it("a tree that is swept empty during a step is freed after the step, not within it", async () => {
    const ending = await orphan();
    await unlist([ending.accessor]);
    later();
    const { stub, treeId } = await locate(ending.client_token);
    const ended = atCalls(AccessorShard, "relist", async ({ proceed }) => {
      await endUnnoticed(ending.client_token, "revoked");
      await runAlarm((await locate(ending.client_token)).stub);
      return proceed();
    });
    const step = await stub.tidy({ run: 1, from: null, accessors: [], customIds: [], aged: [] });
    ended.end();
    expect(step.repairs.relisted).toBe(1);
    expect(await listedAccessors()).not.toContain(ending.accessor);
    const isFreed = () => runInDurableObject(stub, (_, { storage }) => !isCreated(storage.sql));
    expect(await isFreed()).toBe(false);
    await runAlarm(stub);
    expect(await isFreed()).toBe(true);
    expect(await treeAt(bindings, treeId).rowStatus(1)).toBe("absent");
  });

  it("a tree of which a step failed is freed when it is empty", async () => {
    const token = await orphan();
    await unlist([token.accessor]);
    later();
    const { stub } = await locate(token.client_token);
    const away = failing(AccessorShard, "relist");
    expect(await failure(stub.tidy({ run: 1, from: null, accessors: [], customIds: [], aged: [] }))).toContain(
      "answer",
    );
    away.end();
    await endUnnoticed(token.client_token, "revoked");
    await runAlarm(stub);
    expect(await runInDurableObject(stub, (_, { storage }) => isCreated(storage.sql))).toBe(false);
  });

  it("lists the token without a lease again where no prefix reaches it", async () => {
    const rootAccessor = (await self(root)).body.data.accessor as string;
    await child(root);
    await unlist([rootAccessor]);
    later();
    expect((await tidyNow()).relisted).toBe(1);
    expect(await listedAccessors()).toContain(rootAccessor);
    const listed = await call("GET", "sys/leases/lookup/auth/token/root?list=true", { token: root });
    expect(listed.status).toBe(404);
  });
});

// At the end of the file: every run after it has these lists to go through.
describe("a large list", () => {
  const COUNT = 2000;

  it("1 % of 2,000 accessors dangle: those go, the rest is not written to", async () => {
    const tree = await orphan();
    const { stub, treeId, row } = await locate(tree.client_token);
    await growTree(tree.client_token, COUNT, "wide");
    const children = (await tokenRows(stub))
      .filter((token) => token.row !== row)
      .map((token) => ({ row: token.row, text: routedIdText(treeId, token.row, token.accessor) }));
    await listAgain(await stub.describe(children.map((token) => token.row)));
    const dangling = children.filter((_, i) => i % 100 === 0);
    for (const { row: lost } of dangling) await deleteRows(stub, "tokens", { row: lost });
    const before = await listedAccessors();
    const rowsBefore = await tokenRows(stub);
    later();

    const batches: number[] = [];
    let seen = 0;
    const costs = await costOf(stub, async () => {
      const report = await tidyNow(async ({ accessorsExamined }) => {
        batches.push(accessorsExamined - seen);
        seen = accessorsExamined;
      });
      expect(repairs(report)).toEqual({ ...NOTHING, accessorsRemoved: COUNT / 100 });
      expect(report.accessorsExamined).toBe(before.length);
    });

    const gone = new Set(dangling.map(({ text }) => text));
    expect(await listedAccessors()).toEqual(before.filter((accessor) => !gone.has(accessor)));
    expect(await tokenRows(stub)).toEqual(rowsBefore);
    for (const batch of batches) expect(batch).toBeLessThanOrEqual(LIST_PAGE);
    expect(batches.length).toBeGreaterThan(4);
    expect(costs.rowsWritten).toBe(0);
  });

  it("a step reads its batch a few times over, and writes only what is wrong", async () => {
    const tree = (await orphan()).client_token;
    const { stub } = await locate(tree);
    await growTree(tree, COUNT, "wide");
    const rows = await tokenRows(stub);
    await listAgain(await stub.describe(rows.map((token) => token.row)));
    later();
    const steps: Cost[] = [];
    let from: TreePosition | null = null;
    for (let step = 0; step < 20; step++) {
      let next: TreePosition | null = null;
      const cost = await costOf(stub, async () => {
        next = (await stub.tidy({ run: 1, from, accessors: [], customIds: [], aged: [] })).next;
      });
      steps.push(cost);
      from = next;
      if (from === null) break;
    }
    // The tokens, their seals, their parents, their state before and after, and the scan for children of nobody: six rows a token.
    const batches = [...Array.from({ length: COUNT / TIDY_ROWS }, () => TIDY_ROWS), 1, 0, 0];
    expect(steps).toHaveLength(batches.length);
    for (const [i, { rowsRead, rowsWritten }] of steps.entries()) {
      expect(rowsRead).toBeLessThanOrEqual(6 * (batches[i] ?? 0) + 20);
      expect(rowsWritten).toBe(0);
    }
  });
});

// The last: with a watermark a step reads more of each token.
it("what a watermark has ended is swept, also when it was just made", async () => {
  const { id } = (await call("POST", "identity/entity", { token: root, body: {} })).body.data;
  const token_bound = { allowed_entity_aliases: ["leaver"], orphan: true };
  await call("POST", "auth/token/roles/leavers", { token: root, body: token_bound });
  const { "token/": mount } = dataOf<Record<string, { accessor: string }>>(
    await call("GET", "sys/auth", { token: root }),
  );
  const alias = { name: "leaver", canonical_id: id, mount_accessor: mount?.accessor };
  await call("POST", "identity/entity-alias", { token: root, body: alias });
  const fields = { policies: ["default"], entity_alias: "leaver" };
  const { auth } = (await call("POST", "auth/token/create/leavers", { token: root, body: fields })).body;
  expect(auth.entity_id).toBe(id);
  await call("POST", `identity/entity/id/${id}/not-before`, { token: root, body: { not_before: "now" } });
  expect(await tidyNow()).toMatchObject({ revoked: 1 });
  const { stub } = await locate(auth.client_token);
  await runAlarm(stub);
  expect(await listedAccessors()).not.toContain(auth.accessor);
  expect((await call("GET", `sys/tokens/${auth.accessor}`, { token: root })).body.data.ended).toBeTruthy();
});
