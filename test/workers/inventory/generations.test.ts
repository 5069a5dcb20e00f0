import { runInDurableObject } from "cloudflare:test";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { prefixJob } from "../../../src/lease/prefix-revocation.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import {
  ACCESSOR_SHARDS,
  accessorShard,
  accessorShardNumber,
  shardCount,
  shardNumbers,
} from "../../../src/listing/accessor-shards.ts";
import { revocationsOf } from "../../../src/listing/inventory/revocation-jobs.ts";
import { allocateTree } from "../../../src/listing/trees/tree-id-supply.ts";
import { changeDelayMs, listOpeningLeadMs } from "../../../src/system/copy-age.ts";
import { listOpenings, noteListOpenings } from "../../../src/system/generation-openings.ts";
import { forgetInstallation, loadInstallation, refreshInstallation } from "../../../src/system/installation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { growLists } from "../../../src/tidy/grow-lists.ts";
import { startShardChecks } from "../../../src/tidy/shard-tidy.ts";
import { tidyOf } from "../../../src/tidy/tidy.ts";
import { atCalls, atNth, callsTo, failing } from "../../support/calls.ts";
import { indexedPaths, leaseFor } from "../../support/leases.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, bodyOf, call, createToken, dataOf, initialized, keysOf } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import { standInForTargets } from "../../support/targets.ts";
import { checkShards, holdTidy, listedAccessors, listsKnowAll } from "../../support/tidy.ts";
import { endSingleTokens, holdSweeps, locate, runAlarm, sweep } from "../../support/trees.ts";
import { holdWalks, stepWalk } from "../../support/walks.ts";

/** Shards that there are with the second generation. */
const TWO_GENERATIONS = ACCESSOR_SHARDS + 4 * ACCESSOR_SHARDS;
const EVERY = 7;
const HOUR_MS = 3_600_000;

type Made = Awaited<ReturnType<typeof createToken>>;

let root: string;
/** Made before the second generation opened, while it was announced, and afterwards. */
const made = { before: [] as Made[], announced: [] as Made[], after: [] as Made[] };
let lead = 0;

const read = async (path: string) => dataOf<Record<string, unknown>>(await call("GET", path, { token: root }));
const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
const isAlive = async ({ client_token: token }: Made) =>
  (await call("GET", "auth/token/lookup-self", { token })).status === 200;
const makeSome = (fields: Record<string, unknown> = {}) =>
  Promise.all(
    Array.from({ length: EVERY }, (_, at) =>
      createToken(root, { no_parent: true, policies: ["default"], display_name: `grown-${at}`, ttl: "8h", ...fields }),
    ),
  );
const accessorsOf = (tokens: readonly Made[]) => tokens.map(({ accessor }) => accessor).sort();
const shardsOf = (tokens: readonly Made[]) => tokens.map(({ accessor }) => accessorShardNumber(accessor));
const areOld = (shards: readonly number[]) => shards.every((shard) => shard < ACCESSOR_SHARDS);
const areNew = (shards: readonly number[]) => shards.every((shard) => shard >= ACCESSOR_SHARDS);
const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
const passLead = () => later(lead + 1);
const everything = () => [...made.before, ...made.announced, ...made.after];

/** Every token of a filter, by pages of `limit`. */
async function pages(filter: string, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ; ) {
    const page = dataOf<{ tokens: { accessor: string }[]; next: string }>(
      await call("GET", `sys/tokens?${filter}&limit=${limit}&after=${encodeURIComponent(after)}`, { token: root }),
    );
    found.push(...page.tokens.map(({ accessor }) => accessor));
    if (page.next === "") return found;
    after = page.next;
  }
}

beforeEach(() => {
  holdSweeps();
  holdTidy();
  holdWalks();
});

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  root = await initialized();
  lead = listOpeningLeadMs(bindings);
  made.before.push(...(await makeSome()));
  await listsKnowAll();

  await growLists(bindings, Date.now());
  await refreshInstallation(bindings);
  expect(shardCount()).toBe(ACCESSOR_SHARDS);

  await growLists(bindings, Date.now(), 1);
  await refreshInstallation(bindings);
  expect(shardCount()).toBe(TWO_GENERATIONS);
  made.announced.push(...(await makeSome()));
  passLead();
  made.after.push(...(await makeSome()));
});

afterAll(() => {
  vi.useRealTimers();
});

describe("a generation of shards", () => {
  it("lists what is made from its opening on; what was made before stays where it is", () => {
    expect(areOld(shardsOf([...made.before, ...made.announced]))).toBe(true);
    expect(areNew(shardsOf(made.after))).toBe(true);
  });

  it("hands out all ids of new trees, each of its shards as many", async () => {
    // None is left of those that the isolate has fetched.
    later(30_000);
    const fetched = await Promise.all(Array.from({ length: 4 * ACCESSOR_SHARDS }, () => allocateTree(bindings)));
    const ledgers = fetched.map(({ ledger }) => ledger ?? -1).sort((a, b) => a - b);
    expect(ledgers).toEqual(shardNumbers().slice(ACCESSOR_SHARDS));
  });

  it("opens at its time although System and the isolate end in between, and no other one opens before", async () => {
    const openings = listOpenings();
    const opened = callsTo(System, "openListGeneration");
    await crash(systemOf(bindings));
    forgetInstallation();
    noteListOpenings([]);
    await loadInstallation(bindings);
    expect(listOpenings()).toEqual(openings);
    // Asked again with the number that is taken, as by a call whose answer was lost.
    await systemOf(bindings).openListGeneration(1, Date.now());
    // Its own shards have little: those that are full don't count any more.
    await growLists(bindings, Date.now(), 1e9);
    // Nor while it is announced.
    await growLists(bindings, (openings[0] ?? 0) - 1, 1);
    await refreshInstallation(bindings);
    expect(opened.calls).toHaveLength(1);
    expect(shardCount()).toBe(TWO_GENERATIONS);
  });

  it("is begun by the hourly run, which asks the newest shards alone how much they store", async () => {
    const opened = atCalls(System, "openListGeneration", async () => {});
    const sizes = atCalls(AccessorShard, "storedBytes", () => 4.9e9);
    await tidyOf(bindings).startHourly();
    const newest = shardNumbers().slice(ACCESSOR_SHARDS);
    expect(sizes.calls.map(({ id }) => id).sort()).toEqual(
      newest.map((number) => accessorShard(bindings, number).id.toString()).sort(),
    );
    expect(opened.calls).toEqual([]);
    const full = atNth(AccessorShard, "storedBytes", 1, () => 5e9);
    await tidyOf(bindings).startHourly();
    full.end();
    expect(opened.calls.map(({ args: [generation] }) => generation)).toEqual([2]);
    // One that does not answer keeps tidy from nothing.
    vi.spyOn(console, "error").mockReturnValue(undefined);
    failing(AccessorShard, "storedBytes", "shard down", 1);
    await tidyOf(bindings).startHourly();
    expect(opened.calls).toHaveLength(1);
  });
});

describe("over two generations", () => {
  it("lists, pages, searches and counts go over both, whatever the order and the size of the page", async () => {
    const all = accessorsOf(everything());
    expect(keysOf(await call("GET", "auth/token/accessors?list=true", { token: root }))).toEqual(
      expect.arrayContaining(all),
    );
    for (const sort of ["created", "-created", "end", "-end"]) {
      const found = await pages(`display_name=token-grown-*&sort=${sort}`, 4);
      expect([...found].sort()).toEqual(all);
      const order = new Map(found.map((accessor, at) => [accessor, at]));
      const at = (tokens: readonly Made[]) => tokens.map(({ accessor }) => order.get(accessor) ?? -1);
      const [first, last] = sort.startsWith("-") ? [made.after, made.before] : [made.before, made.after];
      expect(Math.max(...at(first))).toBeLessThan(Math.min(...at(last)));
    }
    expect((await pages("search=grown-3", 100)).sort()).toEqual(
      accessorsOf([made.before, made.announced, made.after].flatMap((tokens) => tokens.slice(3, 4))),
    );
    expect((await read("sys/tokens/summary?group_by=display_name")).groups).toEqual(
      expect.arrayContaining(
        Array.from({ length: EVERY }, (_, at) => expect.objectContaining({ key: `token-grown-${at}`, count: 3 })),
      ),
    );
    const listed = (await read("sys/tokens?limit=1000")).tokens as unknown[];
    expect((await read("sys/tokens/summary")).total).toBe(listed.length);
  });

  it("an accessor leads to its token in one call, and revokes it; both lists keep how it ended", async () => {
    for (const token of [taken(made.before), taken(made.after)]) {
      const body = { accessor: token.accessor };
      expect((await post("auth/token/lookup-accessor", body)).body.data.accessor).toBe(token.accessor);
      expect(dataOf(await post("sys/tokens/find", body))).toMatchObject({ state: "live", token: body });
      expect((await post("auth/token/revoke-accessor", body)).status).toBe(204);
      expect(await isAlive(token)).toBe(false);
      await sweep((await locate(token.client_token)).stub);
      const ended = (await read("sys/tokens/ended?limit=1000")).tokens;
      expect(ended).toEqual(
        expect.arrayContaining([expect.objectContaining({ token: expect.objectContaining(body) })]),
      );
      expect(await listedAccessors()).not.toContain(token.accessor);
      expect(await read(`sys/tokens/${token.accessor}`)).toMatchObject({ ended: { how: "revoked" } });
      expect(dataOf(await post("sys/tokens/verify-ended", { accessors: [token.accessor] }))).toMatchObject({
        ended: 1,
      });
    }
  });

  it("a prefix reaches the leases and the tokens of both, and nothing of them stays listed", async () => {
    standInForTargets();
    await post("auth/token/roles/grown", { orphan: true, allowed_policies: "default" });
    const one = async () => bodyOf<{ auth: Made }>(await post("auth/token/create/grown", { ttl: "8h" })).auth;
    const three = async (path: string) => {
      const tokens = [await one(), await one(), await one()];
      return { tokens, lease: await leaseFor(root, tokens[0]?.client_token ?? "", { path, ttl: "8h" }) };
    };
    const [old, young] = [await beforeOpening(() => three("db/grown/early")), await three("db/grown/late")];
    expect(areOld([...shardsOf(old.tokens), shardOfLease(old.lease)])).toBe(true);
    expect(areNew([...shardsOf(young.tokens), shardOfLease(young.lease)])).toBe(true);
    expect(await indexedPaths("secret")).toEqual(["db/grown/early", "db/grown/late"]);
    expect(keysOf(await call("GET", "sys/leases/lookup/db/grown?list=true", { token: root }))).toEqual([
      "early/",
      "late/",
    ]);

    expect((await post("sys/leases/revoke-prefix/db/grown", { sync: false })).status).toBe(202);
    await walkToEnd("db/grown/");
    // The trees notify the targets, and drop the leases then.
    for (const { tokens } of [old, young]) await runAlarm((await locate(tokens[0]?.client_token ?? "")).stub);
    expect(await indexedPaths("secret")).toEqual([]);
    expect((await post("sys/leases/revoke-prefix/auth/token/create/grown", {})).status).toBe(204);
    await walkToEnd("auth/token/create/grown/");
    const tokens = [...old.tokens, ...young.tokens];
    expect(await Promise.all(tokens.map(isAlive))).toEqual(tokens.map(() => false));
    for (const token of tokens) await sweep((await locate(token.client_token)).stub);
    const listed = await listedAccessors();
    expect(tokens.filter(({ accessor }) => listed.includes(accessor))).toEqual([]);
    expect(everything().every(({ accessor }) => listed.includes(accessor))).toBe(true);
  });

  it("a revocation by a filter ends those of both, and its receipt names them", async () => {
    const filter = { display_name: "token-grown-*" };
    const count = everything().length;
    expect(dataOf(await post("sys/tokens/revoke", filter))).toMatchObject({ count, total: count });
    const begin = { ...filter, dry_run: false, expected_count: count };
    const { job } = dataOf<{ job: string }>(await post("sys/tokens/revoke", begin));
    for (let step = 0; step < 50 && (await read(`sys/tokens/jobs/${job}`)).state !== "done"; step++) {
      await runInDurableObject(revocationsOf(bindings), (revocations) => revocations.alarm());
    }
    expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({ state: "done", total: count });
    expect(await Promise.all(everything().map(isAlive))).toEqual(everything().map(() => false));
    for (const token of everything()) await sweep((await locate(token.client_token)).stub);
    expect([...((await read(`sys/tokens/jobs/${job}/receipt`)).accessors as string[])].sort()).toEqual(
      accessorsOf(everything()),
    );
    expect(await pages("display_name=token-grown-*", 100)).toEqual([]);
  });

  it("shards of both end the tokens whose time has come", async () => {
    const old = await beforeOpening(async () => [await createToken(root, SHORT), await createToken(root, LONG)]);
    const young = [await createToken(root, SHORT), await createToken(root, LONG)];
    await listsKnowAll();
    later(2 * HOUR_MS);
    await endSingleTokens();
    const listed = await listedAccessors();
    expect([...old, ...young].map(({ accessor }) => listed.includes(accessor))).toEqual([false, true, false, true]);
  });

  it("the check of a shard leaves what is its own, and moves what an isolate has listed without knowing of the generation", async () => {
    const right = await createToken(root, LONG);
    await listsKnowAll();
    await refreshInstallation(bindings);
    const openings = listOpenings();
    noteListOpenings([]);
    const moved = await createToken(root, LONG);
    await listsKnowAll();
    const wrong = accessorShardNumber(moved.accessor);
    noteListOpenings(openings);
    const own = accessorShardNumber(moved.accessor);
    const listedAt = async (number: number) =>
      (await accessorShard(bindings, number).list("", 1000)).includes(moved.accessor);
    expect([await listedAt(wrong), await listedAt(own)]).toEqual([true, false]);

    later(2 * HOUR_MS);
    const listed = await listedAccessors();
    vi.spyOn(console, "error").mockReturnValue(undefined);
    await startShardChecks(bindings);
    await checkShards([...new Set([wrong, own, accessorShardNumber(right.accessor)])]);
    expect([await listedAt(wrong), await listedAt(own)]).toEqual([false, true]);
    expect(await listedAccessors()).toEqual(listed);
  });

  it("whose time was written without the keys is announced for no other time, nor is another one", async () => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const system = systemOf(bindings);
    const [stored] = await rowsOf(system, "list_openings");
    await changeRows(system, "list_openings", { seal: new Uint8Array(18) });
    const forged = await rowsOf(system, "list_openings");
    for (const generation of [1, 2]) await system.openListGeneration(generation, Date.now());
    expect(await rowsOf(system, "list_openings")).toEqual(forged);
    await changeRows(system, "list_openings", { seal: stored?.seal ?? null });
  });
});

const SHORT = { no_parent: true, policies: ["default"], ttl: "1h", display_name: "brief" };
const LONG = { ...SHORT, ttl: "20h", display_name: "lasting" };

/** Does something at a time before the second generation opened. */
async function beforeOpening<T>(work: () => Promise<T>): Promise<T> {
  const now = Date.now();
  vi.setSystemTime((listOpenings()[0] ?? 0) - 60_000);
  const done = await work();
  vi.setSystemTime(now);
  return done;
}

/** Has a revocation by prefix do all that it has to. */
async function walkToEnd(prefix: string): Promise<void> {
  const stub = prefixJob(bindings, { mode: "revoke", prefix });
  for (let step = 0; await stub.progress(); step++) {
    if (step === 50) throw new Error("the walk does not end");
    await stepWalk(stub);
    // By then every isolate knows of the watermark.
    later(2 * changeDelayMs(bindings));
  }
}

function taken(tokens: Made[]): Made {
  const token = tokens.shift();
  if (!token) throw new Error("there is none left");
  return token;
}

const shardOfLease = (leaseId: string) => accessorShardNumber(leaseId.slice(leaseId.lastIndexOf("/") + 1));
