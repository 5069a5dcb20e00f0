import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { ONE_PROCESS } from "../../../src/app/deployments.ts";
import { prefixJob, walkOfMount } from "../../../src/lease/prefix-revocation.ts";
import type { WalkJob } from "../../../src/lease/prefix-revocation-job.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { cloudAuthAt } from "../../../src/methods/aws/mount/mount-config.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { System } from "../../../src/system/system.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth, callsTo, failing } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { putSweepsOff } from "../../support/faults.ts";
import { indexedPaths, leaseFor, loseTree } from "../../support/leases.ts";
import { issuingMount } from "../../support/logins.ts";
import { madeIn } from "../../support/rows.ts";
import { bindings, call } from "../../support/service.ts";
import { standInForTargets } from "../../support/targets.ts";
import { countRows, holdSweeps, locate, runAlarm, sweep } from "../../support/trees.ts";
import { countWalkCalls, holdWalks, stepWalk } from "../../support/walks.ts";

let root: string;

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initializedAlone();
  await post("sys/policies/acl/maker", { policy: 'path "auth/token/*" { capabilities = ["update"] }' });
});

afterEach(() => vi.useRealTimers());

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const isAlive = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status === 200;
const alive = async (tokens: readonly string[]) => Promise.all(tokens.map(isAlive));

async function create(endpoint: string, fields: Record<string, unknown> = {}, creator = root): Promise<string> {
  const body = { policies: ["default"], ttl: "1h", ...fields };
  const answer = await call("POST", `auth/token/${endpoint}`, { token: creator, body });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.auth.client_token;
}

/** Tokens in so many trees of their own, made against the role. */
async function tokensOf(role: string, count: number): Promise<string[]> {
  await post(`auth/token/roles/${role}`, { orphan: true, allowed_policies: "default" });
  return Promise.all(Array.from({ length: count }, () => create(`create/${role}`, {})));
}

function walk(prefix: string, mode: WalkJob["mode"] = "revoke") {
  const job: WalkJob = { mode, prefix };
  return { job, stub: prefixJob(bindings, job) };
}

/**
 * Calls `before` with the number of each page that walks over `prefix` ask for. It may throw. The walks of other tests may still
 * go on, and are left alone.
 */
function beforeEachPage(prefix: string, before: (page: number) => void): void {
  let page = 0;
  atCalls(AccessorShard, "leasesBelow", ({ args: [, asked], proceed }) => {
    if (asked === prefix) before(++page);
    return proceed();
  });
}

const alarmOf = (stub: ReturnType<typeof prefixJob>) =>
  runInDurableObject(stub, (_, { storage }) => storage.getAlarm());

/** Sets the clock an hour ahead, so that the platform lets no alarm go off. Returns it (ms). */
function aheadOfPlatform(): number {
  const now = Date.now() + 3_600_000;
  vi.useFakeTimers({ toFake: ["Date"], now });
  return now;
}

describe("revoke-prefix", () => {
  it("reaches the tokens of a role in any number of trees, and no others", async () => {
    const mine = await tokensOf("team", 12);
    const others = [await create("create-orphan"), ...(await tokensOf("team-b", 2)), ...(await tokensOf("team.b", 1))];
    expect((await post("sys/leases/revoke-prefix/auth/token/create/team")).status).toBe(204);
    expect(await alive(mine)).toEqual(mine.map(() => false));
    expect(await alive(others)).toEqual(others.map(() => true));
  });

  it("reaches the tokens of a suffix that the role does not have any more", async () => {
    await post("auth/token/roles/moved", { orphan: true, allowed_policies: "default", path_suffix: "old" });
    const old = await create("create/moved");
    await post("auth/token/roles/moved", { path_suffix: "new" });
    const young = await create("create/moved");
    await post("sys/leases/revoke-prefix/auth/token/create/moved/old");
    expect(await alive([old, young])).toEqual([false, true]);
    await post("sys/leases/revoke-prefix/auth/token/create/moved");
    expect(await alive([young])).toEqual([false]);
  });

  it("matches whole segments, with everything below each token", async () => {
    await post("auth/token/roles/a", { orphan: true, allowed_policies: "maker" });
    const top = await create("create/a", { policies: ["maker"] });
    const child = await create("create", { policies: ["maker"] }, top);
    const [other] = await tokensOf("ab", 1);
    await post("sys/leases/revoke-prefix/auth/token/create/a");
    expect(await alive([top, child, other ?? ""])).toEqual([false, false, true]);
  });

  it("leaves the children of a token that was revoked alone to themselves", async () => {
    holdSweeps();
    await post("auth/token/roles/alone", { orphan: true, allowed_policies: "maker" });
    const parent = await create("create/alone", { policies: ["maker"] });
    const child = await create("create", { policies: ["maker"] }, parent);
    await post("auth/token/revoke-orphan", { token: parent });
    expect((await post("sys/leases/revoke-prefix/auth/token/create/alone")).status).toBe(204);
    expect(await alive([parent, child])).toEqual([false, true]);
  });

  it("of a lease id is that lease alone", async () => {
    const tokens = await tokensOf("exact", 2);
    const keys = (await call("GET", "sys/leases/lookup/auth/token/create/exact?list=true", { token: root })).body.data
      .keys;
    expect((await post(`sys/leases/revoke-prefix/auth/token/create/exact/${keys[0]}`)).status).toBe(204);
    expect((await alive(tokens)).sort()).toEqual([false, true]);
  });

  it("of nothing is no error, and leaves nothing behind", async () => {
    expect((await post("sys/leases/revoke-prefix/none/of/these")).status).toBe(204);
    expect((await post("sys/leases/revoke-force/none/of/these")).status).toBe(204);
    expect(await madeIn(walk("none/of/these/").stub)).not.toContain("walk");
    expect(await post(`sys/leases/revoke-prefix/${"x".repeat(600)}`)).toMatchObject({
      status: 400,
      body: { errors: ["the prefix is too long"] },
    });
  });

  it("that is a token is refused: the name of the walk would keep it, and it would not be revoked", async () => {
    const [token = ""] = await tokensOf("as-prefix", 1);
    for (const mode of ["revoke-prefix", "revoke-force"]) {
      for (const prefix of [token, `auth/token/create/${token}`]) {
        const answer = await post(`sys/leases/${mode}/${prefix}`);
        expect([mode, prefix, answer.status]).toEqual([mode, prefix, 400]);
        expect(JSON.stringify(answer.body)).not.toContain(token);
      }
    }
    expect(await isAlive(token)).toBe(true);
  });

  it("never reaches the first root token", async () => {
    expect((await post("sys/leases/revoke-prefix/auth/token/root")).status).toBe(204);
    expect(await isAlive(root)).toBe(true);
  });

  it("answers after a constant number of calls, with or without waiting, and nothing below the prefix is accepted then", async () => {
    const tokens = await tokensOf("async", 3);
    holdWalks();
    const asked = callsTo(AccessorShard, "leasesBelow");
    const callsToTrees = await countWalkCalls(tokens);
    expect(await post("sys/leases/revoke-prefix/auth/token/create/async", { sync: false })).toMatchObject({
      status: 202,
      body: null,
    });
    expect(await alive(tokens)).toEqual([false, false, false]);
    const later = await create("create/async");
    expect((await post("sys/leases/revoke-prefix/auth/token/create/async")).status).toBe(204);
    expect(await isAlive(later)).toBe(false);
    // The walks of other tests may still go on.
    expect(asked.calls.filter(({ args: [, prefix] }) => prefix.startsWith("auth/token/create/async"))).toEqual([]);
    expect(callsToTrees()).toBe(0);
  });

  it("of secrets without waiting answers 202 after a constant number of calls, and continues in the background", async () => {
    standInForTargets(() => 204);
    const holder = await create("create-orphan");
    await leaseFor(root, holder, { path: "async/creds" });
    const held = holdWalks();
    const asked = callsTo(AccessorShard, "leasesBelow");
    expect(await post("sys/leases/revoke-prefix/async", { sync: false })).toMatchObject({ status: 202, body: null });
    // The walks of other tests may still go on.
    expect(asked.calls.filter(({ args: [, prefix] }) => prefix.startsWith("async"))).toEqual([]);
    held.end();
    for (let i = 0; i < 10; i++) await stepWalk(walk("async/").stub);
    expect((await indexedPaths("secret")).filter((path) => path.startsWith("async"))).toEqual([]);
  });

  it("reaches secrets, and says which one's target failed, while the others are revoked", async () => {
    const received = standInForTargets(({ body }) => (body.path === "pg/creds/b" ? 500 : 204));
    const holder = await create("create-orphan");
    const elsewhere = await create("create-orphan");
    await leaseFor(root, holder, { path: "pg/creds/a" });
    const failing = await leaseFor(root, holder, { path: "pg/creds/b" });
    await leaseFor(root, elsewhere, { path: "pg/creds/b/deeper" });
    await leaseFor(root, elsewhere, { path: "pg2/creds" });
    const answer = await post("sys/leases/revoke-prefix/pg");
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatch(
      /^failed to revoke ".*" \(\d \/ 3\): the target db.example.com answered 500$/,
    );
    expect(answer.body.errors[0]).toContain(failing);
    expect(received.map(({ body }) => body.path).sort()).toEqual(["pg/creds/a", "pg/creds/b", "pg/creds/b/deeper"]);
    expect((await indexedPaths("secret")).filter((path) => path.startsWith("pg"))).toEqual(["pg/creds/b", "pg2/creds"]);
    expect((await post("sys/leases/revoke-force/pg")).status).toBe(204);
    expect((await indexedPaths("secret")).filter((path) => path.startsWith("pg"))).toEqual(["pg2/creds"]);
    expect(await alive([holder, elsewhere])).toEqual([true, true]);
    await post("sys/leases/revoke-force/pg2");
  });
});

describe("a walk over many trees", () => {
  it("has few of them sweep at a time, and all of them have when it has ended", async () => {
    holdSweeps();
    const tokens = await tokensOf("many", 60);
    const { job, stub } = walk("auth/token/create/many/");
    const held = holdWalks();
    await stub.start(job, NO_ORIGIN, 0);
    const trees = new Set(await Promise.all(tokens.map(async (token) => (await locate(token)).treeId)));
    let [underWay, most] = [0, 0];
    const swept = new Set<string>();
    // The walks of other tests may still go on.
    const sweeping = atCalls(TokenTree, "sweep", async ({ id, proceed }) => {
      if (!trees.has(id)) return proceed();
      most = Math.max(most, ++underWay);
      const isDone = await proceed();
      underWay--;
      swept.add(id);
      return isDone;
    });
    for (let i = 0; i < 10; i++) await stepWalk(stub);
    held.end();
    sweeping.end();
    expect(swept).toEqual(trees);
    expect(most).toBeLessThanOrEqual(48);
    const left = await Promise.all(tokens.map(async (token) => countRows((await locate(token)).stub)));
    expect(left).toEqual(tokens.map(() => 0));
  });

  it("leaves the sweep to the alarm of a tree that fails at it, or whose walk ends in the middle", async () => {
    const now = aheadOfPlatform();
    holdSweeps();
    const [token = ""] = await tokensOf("failing", 1);
    const { job, stub } = walk("auth/token/create/failing/");
    const held = holdWalks();
    await stub.start(job, NO_ORIGIN, 0);
    const silent = failing(AccessorShard, "remove", "the shard does not answer");
    for (let i = 0; i < 5; i++) await stepWalk(stub);
    silent.end();
    held.end();
    const { stub: tree } = await locate(token);
    expect([await isAlive(token), await countRows(tree)]).toEqual([false, 1]);
    const due = await runInDurableObject(tree, (_, state) => state.storage.getAlarm());
    expect(due).toBeLessThanOrEqual(now + 60_000);
    await sweep(tree);
    expect(await countRows(tree)).toBe(0);
  });

  it("and an alarm whose tree finds others sweeping comes back later", async () => {
    holdSweeps();
    const token = await create("create-orphan");
    await post("auth/token/revoke", { token });
    const { stub: tree } = await locate(token);
    const later = Date.now() + 3_600_000;
    const full = putSweepsOff(later);
    await runAlarm(tree);
    full.end();
    expect(await countRows(tree)).toBe(1);
    expect(await runInDurableObject(tree, (_, state) => state.storage.getAlarm())).toBe(later);
    await sweep(tree);
    expect(await countRows(tree)).toBe(0);
  });
});

describe("a walk that is disturbed", () => {
  it("by the end of its object continues where it stood, and meets each lease once", async () => {
    // An alarm takes six steps, and a step at most one lease of each of six shards: however they are spread, some are left.
    const tokens = await tokensOf("evicted", 40);
    const held = holdWalks();
    const { job, stub } = walk("auth/token/create/evicted/");
    await stub.start(job, NO_ORIGIN, 0);
    atCalls(AccessorShard, "leasesBelow", ({ args: [kind, prefix, start], proceed }) =>
      proceed(kind, prefix, start, 1),
    );
    const callsToTrees = await countWalkCalls(tokens);
    await stepWalk(stub);
    const before = callsToTrees();
    await evictDurableObject(stub);
    for (let i = 0; i < 10; i++) await stepWalk(stub);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(40);
    expect(callsToTrees()).toBe(40);
    held.end();
    expect(await alive(tokens)).toEqual(tokens.map(() => false));
  });

  it("by another start while it ends begins anew", async () => {
    await tokensOf("ending", 1);
    const held = holdWalks();
    expect((await post("sys/leases/revoke-prefix/auth/token/create/ending")).status).toBe(204);
    const { job, stub } = walk("auth/token/create/ending/");
    let [isAnew, pages] = [false, 0];
    beforeEachPage(job.prefix, () => {
      if (isAnew) pages++;
    });
    atNth(System, "watermarksCleaned", 1, async (proceed) => {
      isAnew = true;
      await walk(job.prefix).stub.start(job, NO_ORIGIN, 0);
      return proceed();
    });
    await stepWalk(stub);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    for (let i = 0; i < 10; i++) await stepWalk(stub);
    held.end();
    expect([isAnew, pages > 0]).toEqual([true, true]);
  });

  it("by a shard that does not answer repeats one step", async () => {
    const tokens = await tokensOf("broken", 6);
    const held = holdWalks();
    const { job, stub } = walk("auth/token/create/broken/");
    await stub.start(job, NO_ORIGIN, 0);
    let pages = 0;
    beforeEachPage(job.prefix, (page) => {
      pages = page;
      if (page === 6) throw new Error("the shard is gone for a moment");
    });
    for (let i = 0; i < 6; i++) await stepWalk(stub);
    // A step asks six shards.
    expect(pages).toBe(32 + 6);
    held.end();
    expect(await alive(tokens)).toEqual(tokens.map(() => false));
  });

  it("by a tree that does not answer calls it again later, and reaches the others at once", async () => {
    const [unlucky = "", ...others] = await tokensOf("unlucky", 5);
    const held = holdWalks();
    const { job, stub } = walk("auth/token/create/unlucky/");
    await stub.start(job, NO_ORIGIN, 0);
    const { treeId } = await locate(unlucky);
    const overloaded = atCalls(TokenTree, "walk", ({ id, proceed }) => {
      if (id === treeId) throw new Error("the tree is overloaded");
      return proceed();
    });
    await stepWalk(stub);
    overloaded.end();
    expect(await alive([unlucky, ...others])).toEqual([true, false, false, false, false]);
    for (let i = 0; i < 5; i++) await stepWalk(stub);
    held.end();
    expect(await alive([unlucky, ...others])).toEqual([false, false, false, false, false]);
  });

  it("by another start begins at the front, and both callers get the result", async () => {
    const before = await tokensOf("again", 8);
    const [first, second] = await Promise.all([
      post("sys/leases/revoke-prefix/auth/token/create/again"),
      post("sys/leases/revoke-prefix/auth/token/create/again"),
    ]);
    expect([first.status, second.status]).toEqual([204, 204]);
    expect(await alive(before)).toEqual(before.map(() => false));
  });

  it("by another start does not wait for the pause after a failure", async () => {
    holdWalks();
    const now = aheadOfPlatform();
    const { job, stub } = walk("auth/token/create/paused/");
    await stub.start(job, NO_ORIGIN, 0);
    beforeEachPage(job.prefix, () => {
      throw new Error("shard down");
    });
    await stepWalk(stub);
    expect(await alarmOf(stub)).toBe(now + 15_000);
    await stub.start(job, NO_ORIGIN, 0);
    expect(await alarmOf(stub)).toBe(now);
  });

  it("continues although its alarm was lost: the object sets it again when it wakes", async () => {
    holdWalks();
    const now = aheadOfPlatform();
    const { job, stub } = walk("auth/token/create/lost/");
    await stub.start(job, NO_ORIGIN, 0);
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(stub);
    expect(await stub.progress()).not.toBeNull();
    expect(await alarmOf(stub)).toBe(now);
  });

  it("is sure to meet every token that was answered before it started, while others are created", async () => {
    await tokensOf("busy", 1);
    const answered: string[] = [];
    let creating = true;
    const creators = Array.from({ length: 4 }, async () => {
      while (creating) {
        const answer = await post("auth/token/create/busy");
        // One that was under way at the revocation is to be repeated.
        expect([200, 503]).toContain(answer.status);
        if (answer.status === 200) answered.push(answer.body.auth.client_token);
        // Where nothing is waited for outside the runtime, no timer fires.
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    });
    let before: string[];
    let revoked: Awaited<ReturnType<typeof post>>;
    try {
      await vi.waitFor(() => expect(answered.length).toBeGreaterThan(8), 60_000);
      before = [...answered];
      revoked = await post("sys/leases/revoke-prefix/auth/token/create/busy");
    } finally {
      creating = false;
    }
    await Promise.all(creators);
    expect(revoked.status).toBe(204);
    expect(await alive(before)).toEqual(before.map(() => false));
    await post("sys/leases/revoke-prefix/auth/token/create/busy");
    expect(await alive(answered)).toEqual(answered.map(() => false));
  });
});

describe("disabling a mount", () => {
  async function mounted(path: string) {
    await post(`sys/auth/${path}`, { type: "cloud" });
    return issuingMount(path);
  }

  it("revokes what it issued, with everything below, before its place is free", async () => {
    const { token } = await mounted("github");
    const neighbour = await mounted("github-b");
    const mine = [await token(), await token()];
    const child = await create("create", { policies: ["maker"] }, mine[0]);
    const other = await neighbour.token();
    expect((await call("DELETE", "sys/auth/github", { token: root })).status).toBe(204);
    expect(await alive([...mine, child, other])).toEqual([false, false, false, true]);
    expect((await post("sys/auth/github", { type: "aws" })).status).toBe(204);
  });

  it("erases what the method kept", async () => {
    const { mount } = await mounted("keeper");
    expect((await post("auth/keeper/config/client", { access_key: "AKIAEXAMPLE", secret_key: "kept" })).status).toBe(
      204,
    );
    const tables = () => madeIn(bindings.CLOUD_AUTH.getByName(mount.uuid));
    const held = holdWalks();
    expect((await call("DELETE", "sys/auth/keeper", { token: root })).status).toBe(204);
    expect(await tables()).not.toEqual([]);
    // Long before the end of the walk, which waits until every isolate knows the watermark.
    await stepWalk(walkOfMount(bindings, mount.uuid));
    expect(await tables()).toEqual([]);
    // What a request in flight writes goes with the end of the walk.
    await cloudAuthAt(bindings, mount).writeIdentity({});
    expect(await tables()).not.toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    for (let i = 0; i < 6; i++) await stepWalk(walkOfMount(bindings, mount.uuid));
    held.end();
    expect(await tables()).toEqual([]);
  });

  it("is reached by revoke-prefix too, and stays enabled", async () => {
    const { token } = await mounted("gitlab");
    const before = await token();
    expect((await post("sys/leases/revoke-prefix/auth/gitlab")).status).toBe(204);
    // What is under way at that moment is to begin anew.
    await expect(token()).rejects.toThrow("try again");
    expect(await alive([before, await (await issuingMount("gitlab")).token()])).toEqual([false, true]);
  });

  it("frees its path at once: tokens of the next mount there live, while those of the disabled one are cleaned up", async () => {
    const { login, token, mount } = await mounted("slow");
    const before = await token();
    const batch = await login("batch");
    const held = holdWalks();
    expect((await call("DELETE", "sys/auth/slow", { token: root })).status).toBe(204);
    expect(await login()).toEqual({ ok: false, error: { code: "permission_denied" } });
    expect((await call("GET", "sys/auth/slow", { token: root })).status).toBe(400);
    const next = await mounted("slow");
    const after = await next.token();
    expect(await alive([before, batch.ok ? batch.value.auth.clientToken : "", after])).toEqual([false, false, true]);
    held.end();
    const stub = walkOfMount(bindings, mount.uuid);
    await evictDurableObject(stub);
    for (let i = 0; i < 6; i++) await stepWalk(stub);
    const { stub: tree } = await locate(before);
    await sweep(tree);
    expect(await countRows(tree)).toBe(0);
    expect(await isAlive(after)).toBe(true);
  });

  it("that crashed before the system knew is ended by the walk alone", async () => {
    const { login, mount } = await mounted("early");
    const held = holdWalks();
    const crashing = failing(System, "disableMount", "the process ends here");
    const answer = await call("DELETE", "sys/auth/early", { token: root });
    expect(answer.status).toBe(500);
    crashing.end();
    held.end();
    for (let i = 0; i < 6; i++) await stepWalk(walkOfMount(bindings, mount.uuid));
    forgetInstallation();
    expect(await login()).toEqual({ ok: false, error: { code: "permission_denied" } });
    expect(await systemMount("early/")).toBeNull();
    expect(mount.path).toBe("early/");
  });

  async function systemMount(path: string) {
    return bindings.SYSTEM.getByName("system").findMount(path);
  }
});

describe("sys/leases/tidy", () => {
  it("drops what the index holds without a token or a lease, and keeps the rest", async () => {
    holdSweeps();
    const live = await create("create-orphan");
    await leaseFor(root, live, { path: "tidy/live" });
    const gone = await create("create-orphan");
    await leaseFor(root, gone, { path: "tidy/gone" });
    const goneAccessor = (await post("auth/token/lookup", { token: gone })).body.data.accessor;
    await loseTree(gone);
    const { data } = (await post("auth/token/lookup", { token: live })).body;
    const listed = async () => (await call("GET", "auth/token/accessors?list=true", { token: root })).body.data.keys;
    expect(await listed()).toEqual(expect.arrayContaining([data.accessor, goneAccessor]));
    const answer = await post("sys/leases/tidy");
    expect(answer.status).toBe(202);
    expect(answer.body.warnings[0]).toMatch(/^Tidy operation successfully started\./);
    const { stub: tidy } = walk("", "tidy");
    for (let i = 0; i < 40; i++) await stepWalk(tidy);
    expect((await indexedPaths("secret")).filter((path) => path.startsWith("tidy/"))).toEqual(["tidy/live"]);
    expect(await listed()).toContain(data.accessor);
    expect(await listed()).not.toContain(goneAccessor);
    expect(await isAlive(live)).toBe(true);
  });

  it("is skipped while one is under way", async () => {
    const held = holdWalks();
    const { job, stub } = walk("", "tidy");
    expect(await stub.startUnlessRunning(job)).toBe(true);
    expect(await stub.startUnlessRunning(job)).toBe(false);
    expect((await post("sys/leases/tidy")).status).toBe(202);
    held.end();
    for (let i = 0; i < 40; i++) await stepWalk(stub);
    expect(await stub.startUnlessRunning(job)).toBe(true);
  });
});
