import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { ACCESSOR_SHARDS, accessorShard } from "../../../src/listing/accessor-shards.ts";
import { publishPending, publishRecent } from "../../../src/listing/updates/publish.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { decodeStoredId, firstRowAt } from "../../../src/token/ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth, failing, holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { endBeforeCancelling, endWithinTree, loseCreationUpdates } from "../../support/faults.ts";
import { madeIn } from "../../support/rows.ts";
import { bindings, call, createToken, keysOf } from "../../support/service.ts";
import { allocatedRows, emptyPool, freeTrees } from "../../support/tree-pools.ts";
import { countRows, evictTree, holdSweeps, isCreated, locate, restartTree, runAlarm } from "../../support/trees.ts";

const SHARDS = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => accessorShard(bindings, number));

let root: string;

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initializedAlone();
  const policy = 'path "*" { capabilities = ["create", "read", "update", "delete", "list"] }';
  await call("POST", "sys/policies/acl/all", { token: root, body: { policy } });
});

beforeEach(holdSweeps);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  holdAlarmsOf(AccessorShard);
});
afterEach(() => {
  vi.useRealTimers();
  runAs(ONE_PROCESS);
});

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const lookUp = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

/** A token without a parent that lives for a minute, and its place. */
async function login(fields: Record<string, unknown> = {}) {
  const made = await createToken(root, { no_parent: true, policies: ["default"], ttl: "1m", ...fields });
  return { token: made.client_token, accessor: made.accessor, ...(await locate(made.client_token)) };
}

/** The next token without a parent shall be in this tree. Ids that were allocated before are too old by then. */
async function loginInto(treeId: string, fields: Record<string, unknown> = {}) {
  pass(31);
  const allocation = atNth(AccessorShard, "allocateTrees", 1, () => [treeId]);
  const made = await login(fields);
  allocation.end();
  return made;
}

/** Does what the alarms of the shards do. */
async function askAllocated(): Promise<void> {
  for (const shard of SHARDS) await ringAlarm(shard);
}

/** How often the pools of these shards have the tree, or have handed it out. */
async function pooled(treeId: string, table = "free_trees", shards = SHARDS): Promise<number> {
  const all = (await Promise.all(shards.map(table === "free_trees" ? freeTrees : allocatedRows))).flat();
  return all.filter((trees) => String(trees).includes(treeId)).length;
}

describe("logins that end", () => {
  it("leave their objects to later logins", async () => {
    const taken: string[] = [];
    atCalls(AccessorShard, "allocateTrees", async ({ proceed }) => {
      const trees = await proceed();
      taken.push(...trees);
      return trees;
    });
    const lived = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const logins = [];
      for (let n = 0; n < 30; n++) logins.push(await login());
      for (const { treeId } of logins) lived.add(treeId);
      // The shards get the tokens, and then whose trees those are.
      for (let n = 0; n < 2; n++) await publishPending(bindings);
      pass(61);
      for (const { stub } of logins) await runAlarm(stub);
      await askAllocated();
      pass(1);
    }
    // The first thirty allocate sixty ids, half of which are for the next ones.
    const objects = new Set([...lived, ...taken]);
    expect(objects.size).toBeLessThanOrEqual(75);
    expect(await Promise.all([...objects].map((treeId) => pooled(treeId)))).not.toContain(0);
  });
});

describe("freed trees", () => {
  it("are allocated in the reverse order of their ends, those that no isolate remembers last", async () => {
    const shard = accessorShard(bindings, 3);
    await emptyPool(shard);
    const ids = Array.from({ length: 5 }, () => bindings.TOKEN_TREE.newUniqueId().toString());
    const [first = "", second = "", third = "", fourth = "", fifth = ""] = ids;
    // As an object that slept since finds them.
    for (const tree of [first, second]) await shard.releaseTree(tree);
    await evictDurableObject(shard);
    for (const tree of [third, fourth, fifth]) await shard.releaseTree(tree);
    expect(new Set(await shard.allocateTrees(2))).toEqual(new Set([fourth, fifth]));
    expect(await shard.allocateTrees(1)).toEqual([third]);
    expect(new Set(await shard.allocateTrees(3))).toEqual(new Set([first, second]));
    await emptyPool(shard);
  });
});

describe("a tree whose alarm comes while another sweep has the thread", () => {
  it("sweeps at once when a request has ended its only token, and else waits for its turn", async () => {
    const alone = await login({ ttl: "1h" });
    const above = await login({ ttl: "1h", policies: ["all"] });
    await createToken(above.token, { ttl: "1h" });
    await publishPending(bindings);
    const { promise, resolve } = Promise.withResolvers<void>();
    const piece = bindings.deployment.pace.turns().piece(() => promise);
    for (const { token } of [alone, above]) await call("POST", "auth/token/revoke-self", { token });
    const waits = runAlarm(above.stub);
    await runAlarm(alone.stub);
    expect(await countRows(alone.stub)).toBe(0);
    expect(await pooled(alone.treeId)).toBe(1);
    expect(await countRows(above.stub)).toBe(2);
    resolve();
    await Promise.all([piece, waits]);
    expect(await countRows(above.stub)).toBe(0);
  });
});

/** What belonged to a token of a former life, with the token. */
async function formerLife() {
  const { token, accessor, stub, treeId } = await login({ ttl: "1h", policies: ["all"] });
  const child = (await createToken(token, { ttl: "1h" })).client_token;
  const batch = (await createToken(token, { type: "batch", ttl: "1h" })).client_token;
  await call("POST", "cubbyhole/kept", { token, body: { secret: "of the first life" } });
  const lease = (await leasesOf(accessor))[0] ?? "";
  expect(lease).not.toBe("");
  await publishPending(bindings);
  await call("POST", "auth/token/revoke", { token: root, body: { token } });
  for (let n = 0; n < 3; n++) await runAlarm(stub);
  return { token, accessor, child, batch, lease, stub, treeId };
}

/** Ids of the leases of tokens in the tree of this one. */
async function leasesOf(accessor: string): Promise<string[]> {
  const path = "auth/token/create";
  const listed = await call("GET", `sys/leases/lookup/${path}?list=true`, { token: root });
  const place = Buffer.from(accessor, "base64url").subarray(0, 39).toString("hex");
  return [...keysOf(listed)].filter((name) => name.startsWith(`h${place}`)).map((name) => `${path}/${name}`);
}

describe("a tree that is reused", () => {
  it("refuses all tokens of its earlier use", async () => {
    const former = await formerLife();
    expect(await countRows(former.stub)).toBe(0);
    expect(await pooled(former.treeId)).toBe(1);
    pass(1);
    const next = await loginInto(former.treeId, { ttl: "1h" });
    expect(next.treeId).toBe(former.treeId);
    const sure = async () => {
      for (const token of [former.token, former.child, former.batch]) expect(await lookUp(token)).toBe(403);
      for (const path of ["lookup", "renew", "revoke"]) {
        const named = await call("POST", `sys/leases/${path}`, { token: root, body: { lease_id: former.lease } });
        expect([path, named.status]).not.toEqual([path, 200]);
      }
      for (const path of ["lookup-accessor", "renew-accessor", "revoke-accessor"]) {
        const named = await call("POST", `auth/token/${path}`, { token: root, body: { accessor: former.accessor } });
        // Revocation is safe to repeat, and says so of what is not there.
        expect([path, named.status === 200]).toEqual([path, path === "revoke-accessor"]);
      }
      expect(await lookUp(next.token)).toBe(200);
      const kept = await call("GET", "cubbyhole/kept", { token: next.token });
      expect(kept.status).toBe(404);
    };
    await sure();
    await evictTree(former.stub);
    await sure();
  });

  it("is not allocated while something is left in it, nor with a row that may have been used before", async () => {
    const former = await login({ ttl: "1h" });
    const early = Date.now() - 3_600_000;
    const other = await loginInto(former.treeId);
    expect(other.treeId).not.toBe(former.treeId);
    await call("POST", "auth/token/revoke-self", { token: former.token });
    const swept = await loginInto(former.treeId);
    expect(swept.treeId).not.toBe(former.treeId);
    await runAlarm(former.stub);
    // The clock is set back.
    vi.setSystemTime(early);
    const setBack = await loginInto(former.treeId);
    expect(setBack.treeId).not.toBe(former.treeId);
    expect(await lookUp(setBack.token)).toBe(200);
    pass(3_700);
    expect((await loginInto(former.treeId)).treeId).toBe(former.treeId);
  });

  it("has an empty file and no alarm after it was large, and then an alarm again", async () => {
    const { token, accessor, stub, treeId, row } = await login({ ttl: "1h", policies: ["all"] });
    await call("POST", "cubbyhole/large", { token, body: { large: "x".repeat(400_000) } });
    await publishPending(bindings);
    const inTree = <T>(read: (storage: DurableObjectStorage) => T | Promise<T>) =>
      runInDurableObject(stub, (_, { storage }) => read(storage));
    const alarm = () => inTree((storage) => storage.getAlarm());
    // As a job does it: the alarm of the tree comes later, should the job end in the middle.
    const tokens = [{ row, tail: decodeStoredId(accessor)?.tail ?? new Uint8Array() }];
    const request = { tokens, filter: null, includeRoot: false, spare: null, asked: NO_ORIGIN };
    await stub.revokeFiltered({ ...request, dry: false, sweptByCaller: true });
    expect(await alarm()).not.toBeNull();
    await stub.sweep();
    expect([await alarm(), await pooled(treeId)]).toEqual([null, 1]);
    // Only row numbers are kept: what is deleted of a table makes a file no smaller.
    expect(await inTree(({ sql }) => isCreated(sql))).toBe(false);
    expect(await madeIn(stub)).toContain("row_floor");
    pass(60);
    const next = await loginInto(treeId, { ttl: "1h", policies: ["all"] });
    expect([next.treeId, next.row > row, await lookUp(token)]).toEqual([treeId, true, 403]);
    await createToken(next.token, { ttl: "1h" });
    expect(await alarm()).not.toBeNull();
  });

  it("makes children above the rows of those that were deleted, when the clock was set back", async () => {
    const parent = await login({ ttl: "2h", policies: ["all"] });
    const now = Date.now();
    pass(600);
    const child = await createToken(parent.token, { ttl: "1h" });
    const place = await locate(child.client_token);
    const batch = (await createToken(child.client_token, { type: "batch", ttl: "1h" })).client_token;
    await call("POST", "auth/token/revoke", { token: root, body: { token: child.client_token } });
    await runAlarm(parent.stub);
    vi.setSystemTime(now);
    await evictTree(parent.stub);
    const later = await createToken(parent.token, { ttl: "1h" });
    expect((await locate(later.client_token)).row).toBeGreaterThan(place.row);
    expect(await lookUp(batch)).toBe(403);
  });

  it("returns to the pool when it was allocated and not used", async () => {
    const shard = accessorShard(bindings, 3);
    await emptyPool(shard);
    const [treeId = ""] = await shard.allocateTrees(1);
    pass(61);
    await askAllocated();
    expect([await pooled(treeId), await pooled(treeId, "allocated_trees")]).toEqual([1, 0]);
    expect(await shard.allocateTrees(1000)).toEqual([treeId]);
  });

  it("that does not answer is asked again later", async () => {
    const shard = accessorShard(bindings, 3);
    await emptyPool(shard);
    const [treeId = ""] = await shard.allocateTrees(1);
    vi.spyOn(console, "error").mockReturnValueOnce();
    const away = failing(TokenTree, "report");
    pass(61);
    await askAllocated();
    away.end();
    expect([away.calls.length, await pooled(treeId)]).toEqual([1, 0]);
    pass(61);
    await askAllocated();
    expect([await pooled(treeId), await pooled(treeId, "allocated_trees")]).toEqual([1, 0]);
  });

  it("is in one row with those that were allocated with it, until the last of them has started", async () => {
    const shard = accessorShard(bindings, 4);
    await emptyPool(shard);
    const trees = await shard.allocateTrees(3);
    const rows = async () => (await allocatedRows(shard)).length;
    expect([trees.length, await rows()]).toEqual([3, 1]);
    const row = firstRowAt(Date.now() + 1000);
    const start = (...started: string[]) =>
      shard.applyUpdates({ made: [], changed: [], sizes: [], started: started.map((tree) => ({ tree, row })) });
    await start(...trees.slice(0, 2));
    expect(await rows()).toBe(1);
    await start(...trees);
    expect(await rows()).toBe(0);
  });

  it("has started also by a clock of another node that is behind, but not by one that is hours behind", async () => {
    const shard = accessorShard(bindings, 4);
    await emptyPool(shard);
    runAs(CLUSTER);
    const [first = "", second = ""] = await shard.allocateTrees(2);
    const start = (tree: string, agoMs: number) =>
      shard.applyUpdates({
        made: [],
        changed: [],
        sizes: [],
        started: [{ tree, row: firstRowAt(Date.now() - agoMs) }],
      });
    await start(first, 20_000);
    await start(second, 7_200_000);
    expect(await shard.allocatedTrees()).toEqual([second]);
  });

  it("is asked by a shard that was evicted, whether its tree is listed or not, and both tokens stay", async () => {
    const shard = accessorShard(bindings, 4);
    await emptyPool(shard);
    const [first = "", second = ""] = await shard.allocateTrees(2);
    const listed = await loginInto(first, { ttl: "1h" });
    await publishRecent(bindings, Date.now());
    const lost = loseCreationUpdates();
    const unlisted = await loginInto(second, { ttl: "1h" });
    lost.end();
    await evictDurableObject(shard);
    // It wakes, and has to ask about trees that it allocated.
    expect(await shard.allocatedTrees()).toEqual([first, second]);
    pass(61);
    await askAllocated();
    expect([await pooled(first), await pooled(second), await pooled(first, "allocated_trees")]).toEqual([0, 0, 0]);
    const { body } = await call("GET", "auth/token/accessors?list=true", { token: root });
    expect(body.data.keys).toEqual(expect.arrayContaining([listed.accessor, unlisted.accessor]));
    expect(new Set(body.data.keys).size).toBe(body.data.keys.length);
  });
});

describe("a crash", () => {
  // A pool may have a tree that is in use, and trees that two pools have are not what is tested here.
  beforeEach(async () => {
    pass(31);
    for (const shard of SHARDS) await emptyPool(shard);
  });

  it("before the shard knows that a tree is free leaves it to the alarm", async () => {
    const { token, stub, treeId } = await login();
    await call("POST", "auth/token/revoke-self", { token });
    const ends = endBeforeCancelling();
    await runAlarm(stub);
    ends.end();
    expect([await countRows(stub), await pooled(treeId)]).toEqual([1, 0]);
    const woken = await restartTree(stub);
    await runAlarm(woken);
    expect([await countRows(woken), await pooled(treeId)]).toEqual([0, 1]);
  });

  it("leaves a token that comes into a large tree while its file is about to be emptied", async () => {
    const { token, stub, treeId } = await login({ ttl: "1h", policies: ["all"] });
    await call("POST", "cubbyhole/large", { token, body: { large: "x".repeat(400_000) } });
    await call("POST", "auth/token/revoke-self", { token });
    let next = { token: "", treeId: "" };
    atNth(AccessorShard, "releaseTree", 1, async (proceed) => {
      await proceed();
      next = await loginInto(treeId, { ttl: "1h" });
    });
    await runAlarm(stub);
    expect([next.treeId, await lookUp(next.token)]).toEqual([treeId, 200]);
  });

  it("of the shard to which a large tree returns leaves its id to the next alarm", async () => {
    const { token, stub, treeId } = await login({ ttl: "1h", policies: ["all"] });
    await call("POST", "cubbyhole/large", { token, body: { large: "x".repeat(400_000) } });
    await call("POST", "auth/token/revoke-self", { token });
    const away = failing(AccessorShard, "releaseTree", "the shard is gone for a moment");
    await runAlarm(stub);
    away.end();
    expect(await pooled(treeId)).toBe(0);
    await runAlarm(stub);
    expect(await pooled(treeId)).toBe(1);
  });

  it("between the shard and the tree leaves a tree that nobody gets, and that is free a little later", async () => {
    const { token, stub, treeId } = await login();
    await call("POST", "auth/token/revoke-self", { token });
    const ends = endWithinTree();
    await runAlarm(stub);
    ends.end();
    expect([await countRows(stub), await pooled(treeId)]).toEqual([1, 1]);
    const woken = await restartTree(stub);
    expect((await loginInto(treeId)).treeId).not.toBe(treeId);
    await runAlarm(woken);
    pass(1);
    expect([await countRows(woken), await pooled(treeId)]).toEqual([0, 1]);
    expect((await loginInto(treeId)).treeId).toBe(treeId);
    expect(await lookUp(token)).toBe(403);
  });

  it("before the first token of a reused tree is listed leaves it to the shard, whatever the earlier use listed", async () => {
    const former = await login();
    await call("POST", "auth/token/revoke-self", { token: former.token });
    await runAlarm(former.stub);
    pass(1);
    const shard = accessorShard(bindings, 5);
    await emptyPool(shard);
    await shard.releaseTree(former.treeId);
    expect(await shard.allocateTrees(1000)).toEqual([former.treeId]);
    const lost = loseCreationUpdates();
    const next = await loginInto(former.treeId, { ttl: "1h" });
    lost.end();
    // It comes late.
    await shard.applyUpdates({ made: [], changed: [], sizes: [], started: [{ tree: former.treeId, row: former.row }] });
    expect(await pooled(former.treeId, "allocated_trees", [shard])).toBe(1);
    pass(61);
    await askAllocated();
    const listed = await call("GET", "auth/token/accessors?list=true", { token: root });
    expect(listed.body.data.keys).toContain(next.accessor);
    expect(listed.body.data.keys).not.toContain(former.accessor);
  });
});
