import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { atCalls, atNth, failing } from "../../support/calls.ts";
import { endBeforeLeaseIsRemoved, sweepFewLeases } from "../../support/faults.ts";
import {
  advance,
  giveUpMany,
  indexedPaths,
  leaseFor,
  leaseRows,
  loseListedLeases,
  runAlarm,
} from "../../support/leases.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { standInForTargets } from "../../support/targets.ts";
import { evictTree, holdSweeps, locate, restartTree } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  holdSweeps();
});

afterEach(() => {
  vi.useRealTimers();
});

const get = (path: string) => call("GET", path, { token: root });
const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const holder = async () =>
  (await post("auth/token/create-orphan", { policies: ["default"], ttl: "20h" })).body.auth.client_token;

/** Fails a lease's revocation until it is given up. Returns the pauses between attempts, in seconds. */
async function exhaust(token: string): Promise<number[]> {
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 6; attempt++) {
    await runAlarm(token);
    const [row] = await leaseRows(token);
    if (row?.state !== 1) break;
    pauses.push((row.attempt_at - Date.now()) / 1000);
    vi.setSystemTime(row.attempt_at);
  }
  return pauses;
}

describe("a target that fails", () => {
  it("gives up while the lease is forced: the lease is sent once more, and forgotten", async () => {
    const open = { now: false };
    const received = standInForTargets(async () => {
      while (!open.now) await scheduler.wait(1);
      return 400;
    });
    const token = await holder();
    // Of so many one walk sends the first twelve itself.
    for (let at = 0; at < 13; at++) await leaseFor(root, token, { path: "x19/forced" });
    const { stub } = await locate(token);
    const secrets = (await rowsOf(stub, "leases")).flatMap(({ row, tail }) =>
      tail instanceof Uint8Array ? [{ row: Number(row), tail }] : [],
    );
    await post("auth/token/revoke", { token });
    const attempt = runAlarm(token);
    await expect.poll(() => received.length).toBe(6);
    // The first of those that are on their way is the last of those that are forced.
    const force = { mode: "force", watermark: null, asked: NO_ORIGIN } as const;
    const walk = stub.walk({ tokens: [], secrets: secrets.toReversed() }, force);
    await expect.poll(() => received.length).toBe(12);
    open.now = true;
    await Promise.all([attempt, walk]);
    for (let again = 0; again < 2; again++) await runAlarm(token);
    expect(await leaseRows(token)).toEqual([]);
    expect(await indexedPaths("secret")).not.toContain("x19/forced");
  });

  it("is forced while its lease is being given up: the lease stays pending until the forced revocation is sent", async () => {
    const second = Promise.withResolvers<number>();
    const received = standInForTargets(() => (received.length === 1 ? 400 : second.promise));
    const token = await holder();
    const id = await leaseFor(root, token, { path: "x20/forced" });
    const listing = Promise.withResolvers<void>();
    const listed = Promise.withResolvers<void>();
    atCalls(AccessorShard, "giveUpLease", async ({ proceed }) => {
      listing.resolve();
      await proceed();
      await listed.promise;
    });
    const revoked = post("sys/leases/revoke", { lease_id: id });
    await listing.promise;
    const forced = post(`sys/leases/revoke-force/${id}`);
    await expect.poll(() => received.length).toBe(2);
    listed.resolve();
    expect((await revoked).status).toBe(400);
    // A crash here must not lose the forced revocation.
    expect((await leaseRows(token))[0]).toMatchObject({ state: 1, error: null });
    second.resolve(400);
    expect((await forced).status).toBe(204);
    expect(await leaseRows(token)).toEqual([]);
    expect(await indexedPaths("secret")).not.toContain("x20/forced");
  });

  it("is listed no more when its lease was forced while it was being given up", async () => {
    standInForTargets(() => 400);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "x21/forced" });
    atNth(AccessorShard, "giveUpLease", 1, async (proceed) => {
      expect((await post(`sys/leases/revoke-force/${id}`)).status).toBe(204);
      await proceed();
    });
    expect((await post("sys/leases/revoke", { lease_id: id })).status).toBe(400);
    expect(await leaseRows(token)).toEqual([]);
    expect(await indexedPaths("secret")).not.toContain("x21/forced");
    expect((await get("sys/leases?type=irrevocable")).body.data.leases).toEqual([]);
  });

  it("is asked six times, ever later, then the lease is listed as irrevocable with its error", async () => {
    const received = standInForTargets(() => 503);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "x19/one", ttl: "1h" });
    expect(await post("sys/leases/revoke", { lease_id: id, sync: false })).toMatchObject({ status: 202, body: null });
    await runAlarm(token);
    const [row] = await leaseRows(token);
    expect((row?.attempt_at ?? 0) - Date.now()).toBe(10_000);
    vi.setSystemTime(row?.attempt_at ?? 0);
    const { accessor } = dataOf<{ accessor: string }>(await post("auth/token/lookup", { token }));
    // It has ended, and is shown with its error as long as its target refuses.
    const retried = await post("sys/leases/lookup", { lease_id: id });
    expect(retried.body.data).toMatchObject({
      revoke_error: "the target db.example.com answered 503",
      next_attempt: expect.any(String),
      renewable: false,
      ttl: 0,
    });
    const found = await post("sys/tokens/find", { token: id });
    expect(found.body.data).toMatchObject({ kind: "lease", state: "ended", token: { accessor } });
    expect(await exhaust(token)).toEqual([20, 40, 80, 160]);
    expect(received).toHaveLength(6);
    expect(new Set(received.map(({ headers }) => headers.get("Idempotency-Key")))).toEqual(new Set([id]));
    advance(86_400);
    await runAlarm(token);
    expect(received).toHaveLength(6);

    expect((await get("sys/leases/count?type=irrevocable")).body.data).toEqual({
      lease_count: 1,
      counts: { "x19/": 1 },
    });
    expect((await get("sys/leases?type=irrevocable")).body.data).toEqual({
      lease_count: 1,
      leases: [{ lease_id: id, mount_id: "x19/", accessor, error: "the target db.example.com answered 503" }],
    });
    const seen = await post("sys/leases/lookup", { lease_id: id });
    expect(seen.body.data).toMatchObject({ revoke_error: expect.any(String), next_attempt: null });
    expect((await post("sys/leases/renew", { lease_id: id })).body.errors).toEqual([
      "lease is expired and has failed previous revocation attempts",
    ]);
    await evictTree((await locate(token)).stub);
    expect((await leaseRows(token))[0]).toMatchObject({ state: 2, error: "the target db.example.com answered 503" });

    expect((await post(`sys/leases/revoke-force/${id}`)).status).toBe(204);
    expect(received).toHaveLength(7);
    expect(await leaseRows(token)).toEqual([]);
    expect((await get("sys/leases/count?type=irrevocable")).body.data).toEqual({ lease_count: 0, counts: {} });
  });

  it("is asked again by an ordinary revocation of a lease that was given up", async () => {
    let status = 400;
    const received = standInForTargets(() => status);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "again/x" });
    const refused = await post("sys/leases/revoke", { lease_id: id });
    expect(refused.body.errors).toEqual([`failed to revoke "${id}" (1 / 1): the target db.example.com answered 400`]);
    expect((await leaseRows(token))[0]?.state).toBe(2);
    status = 200;
    expect((await post("sys/leases/revoke", { lease_id: id })).status).toBe(204);
    expect(received).toHaveLength(2);
    expect(await indexedPaths("secret")).not.toContain("again/x");
    expect((await get("sys/leases/count?type=irrevocable")).body.data.lease_count).toBe(0);
  });

  it("that does not understand is not asked again", async () => {
    const received = standInForTargets(({ body }) => (body.path.endsWith("hopeless") ? 405 : 403));
    const token = await holder();
    await leaseFor(root, token, { path: "x17/hopeless" });
    await leaseFor(root, token, { path: "x17/denied" });
    await post("auth/token/revoke", { token });
    await runAlarm(token);
    expect((await leaseRows(token)).map(({ state }) => state).sort()).toEqual([1, 2]);
    expect(received).toHaveLength(2);
    await post("sys/leases/revoke-force/x17");
    expect(await leaseRows(token)).toEqual([]);
  });

  it("delays no other lease of the tree", async () => {
    const received = standInForTargets(({ body }) => (body.path === "slow/x" ? new Error("no route") : 204));
    const token = await holder();
    await leaseFor(root, token, { path: "slow/x" });
    await leaseFor(root, token, { path: "fast/x" });
    await post("auth/token/revoke", { token });
    await runAlarm(token);
    expect(received).toHaveLength(2);
    expect(await leaseRows(token)).toMatchObject([{ state: 1, attempts: 1 }]);
    await post("sys/leases/revoke-force/slow");
  });
});

describe("the list of irrevocable leases", () => {
  it("is in order of expiry, can be limited, and is asked for by its type", async () => {
    standInForTargets(() => 400);
    const token = await holder();
    for (const [path, ttl] of [
      ["list/b", "30m"],
      ["list/a", "10m"],
      ["other/c", "20m"],
    ]) {
      await leaseFor(root, token, { path, ttl });
    }
    await post("auth/token/revoke", { token });
    await runAlarm(token);
    const paths = async (query: string) => {
      const { leases } = dataOf<{ leases: { lease_id: string }[] }>(await get(`sys/leases?type=irrevocable${query}`));
      return leases.map(({ lease_id }) => lease_id.split("/").slice(0, 2).join("/"));
    };
    expect(await paths("")).toEqual(["list/a", "other/c", "list/b"]);
    expect(await paths("&limit=none")).toEqual(["list/a", "other/c", "list/b"]);
    expect(await paths("&limit=2")).toEqual(["list/a", "other/c"]);
    expect((await get("sys/leases/count?type=irrevocable")).body.data).toEqual({
      lease_count: 3,
      counts: { "list/": 2, "other/": 1 },
    });
    for (const limit of ["0", "-1", "x"])
      expect((await get(`sys/leases?type=irrevocable&limit=${limit}`)).status).toBe(400);
    for (const path of ["sys/leases", "sys/leases/count", "sys/leases?type=x", "sys/leases/count?type=x"]) {
      expect(await get(path)).toMatchObject({ status: 404, body: { errors: [] } });
    }
    expect((await post("sys/leases/revoke-force/list")).status).toBe(204);
    expect((await post("sys/leases/revoke-force/other")).status).toBe(204);
  });

  it("holds 10,000 and says so, unless all are asked for", async () => {
    const shards = [3, 7].map((number) => bindings.ACCESSOR_SHARD.getByName(`accessors-${number}`));
    const [shard, other] = shards as [DurableObjectStub<AccessorShard>, DurableObjectStub<AccessorShard>];
    await giveUpMany(shard, 1, 10_001);
    const capped = await get("sys/leases?type=irrevocable");
    expect(capped.body.data.lease_count).toBe(10_000);
    expect(capped.body.warnings).toEqual([
      "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.",
    ]);
    const all = await get("sys/leases?type=irrevocable&limit=none");
    expect([all.body.data.lease_count, all.body.warnings]).toEqual([10_001, null]);
    expect((await get("sys/leases/count?type=irrevocable")).body.data.counts).toMatchObject({ "cap/": 10_001 });

    await giveUpMany(other, 10_002, 30_001);
    for (const limit of ["none", "NONE", "30001"]) {
      const most = await get(`sys/leases?type=irrevocable&limit=${limit}`);
      const { lease_count, leases } = dataOf<{ lease_count: number; leases: { error: string }[] }>(most);
      expect([lease_count, leases[0]?.error, leases.at(-1)?.error]).toEqual([30_000, "no 1", "no 30000"]);
      expect(String(most.body.warnings)).toContain("30000");
    }
    const exact = await get("sys/leases?type=irrevocable&limit=30000");
    expect([exact.body.data.lease_count, exact.body.warnings]).toEqual([30_000, null]);
    for (const one of shards) {
      await loseListedLeases(one);
    }
  });

  it("counts a lease at the path of an engine with those below it", async () => {
    const shard = bindings.ACCESSOR_SHARD.getByName("accessors-5");
    for (const [at, path] of ["db", "db/a", "db/b"].entries()) {
      await shard.giveUpLease({ tail: `tail${at}`, path, expiresAt: at, error: "no" });
    }
    expect((await get("sys/leases/count?type=irrevocable")).body.data.counts).toMatchObject({ "db/": 3 });
    await loseListedLeases(shard);
  });

  it("needs sudo", async () => {
    await post("sys/policies/acl/reader", { policy: 'path "sys/leases" { capabilities = ["read"] }' });
    const { client_token: token } = (await post("auth/token/create", { policies: ["reader"] })).body.auth;
    expect((await call("GET", "sys/leases?type=irrevocable", { token })).status).toBe(403);
  });
});

describe("a crash", () => {
  it("after the target knew and before the tree did repeats the request under the same key", async () => {
    const received = standInForTargets();
    const token = await holder();
    const id = await leaseFor(root, token, { path: "crash/after" });
    await post("auth/token/revoke", { token });
    const broken = endBeforeLeaseIsRemoved();
    await runAlarm(token);
    broken.end();
    await restartTree((await locate(token)).stub);
    expect(await leaseRows(token)).toMatchObject([{ state: 1, attempts: 1 }]);
    advance(60);
    await runAlarm(token);
    expect(received.map(({ headers }) => headers.get("Idempotency-Key"))).toEqual([id, id]);
    expect(await leaseRows(token)).toEqual([]);
  });

  it("before the index forgets a revoked lease repeats the request, and leaves nothing there", async () => {
    const received = standInForTargets();
    const token = await holder();
    await leaseFor(root, token, { path: "crash/indexed" });
    await post("auth/token/revoke", { token });
    const broken = failing(AccessorShard, "removeLeases", "the shard is gone for a moment");
    await runAlarm(token);
    broken.end();
    expect(await indexedPaths("secret")).toContain("crash/indexed");
    advance(60);
    await runAlarm(token);
    expect(received).toHaveLength(2);
    expect(await indexedPaths("secret")).not.toContain("crash/indexed");
  });

  it("before a lease is listed as irrevocable repeats that, and nothing is lost", async () => {
    standInForTargets(() => 400);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "crash/before" });
    await post("auth/token/revoke", { token });
    const broken = failing(AccessorShard, "giveUpLease", "the shard is gone for a moment");
    await runAlarm(token);
    broken.end();
    expect(await leaseRows(token)).toMatchObject([{ state: 1 }]);
    advance(60);
    await runAlarm(token);
    const { leases } = dataOf<{ leases: { lease_id: string }[] }>(await get("sys/leases?type=irrevocable"));
    expect(leases.map(({ lease_id }) => lease_id)).toEqual([id]);
    // A walk goes by its alarm, which goes by the real clock.
    vi.useRealTimers();
    await post("sys/leases/revoke-force/crash");
  });

  it("while a token with many leases is swept leaves each lease to exactly one later step", async () => {
    const received = standInForTargets();
    const token = await holder();
    for (let i = 0; i < 9; i++) await leaseFor(root, token, { path: `many/${i}` });
    await post("auth/token/revoke", { token });
    sweepFewLeases(4);
    await runAlarm(token);
    expect(received).toHaveLength(9);
    expect(new Set(received.map(({ body }) => body.path)).size).toBe(9);
    expect(await leaseRows(token)).toEqual([]);
  });
});

describe("two revocations at once", () => {
  it("of which the second comes before the next attempt keep its time", async () => {
    standInForTargets(() => 500);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "again/x" });
    await post("sys/leases/revoke", { lease_id: id, sync: true });
    const pending = await leaseRows(token);
    expect(pending).toMatchObject([{ state: 1, attempts: 1 }]);
    await post("sys/leases/revoke", { lease_id: id, sync: false });
    expect(await leaseRows(token)).toEqual(pending);
  });

  it("of one lease both say that it is revoked, and the alarm does not send it a third time", async () => {
    let release: (status: number) => void = () => {};
    const held = new Promise<number>((resolve) => {
      release = resolve;
    });
    const received = standInForTargets(() => held);
    const token = await holder();
    const id = await leaseFor(root, token, { path: "twice/x" });
    const first = post("sys/leases/revoke", { lease_id: id });
    await vi.waitFor(() => expect(received).toHaveLength(1), 60_000);
    await runAlarm(token);
    const second = post("sys/leases/revoke", { lease_id: id, sync: false });
    expect((await second).status).toBe(202);
    expect(received).toHaveLength(1);
    release(204);
    expect((await first).status).toBe(204);
    expect(await leaseRows(token)).toEqual([]);
  });
});

describe("the data of a lease", () => {
  it("is sent to the target that the lease was registered with, and to no other", async () => {
    const received = standInForTargets();
    const token = await holder();
    const id = await leaseFor(root, token, { data: { user: "app" }, target: "https://db.example.com/revoke" });
    const { stub } = await locate(token);
    // An attacker who writes the storage has no keys to seal the data for another target.
    await alter(stub, "UPDATE leases SET record = replace(record, 'db.example.com', 'elsewhere.example.net')");
    await evictTree(stub);
    await post("sys/leases/revoke", { lease_id: id, sync: true });
    const [row] = await leaseRows(token);
    expect(received).toEqual([]);
    expect(row?.error).toBe("the data of the lease does not open");
  });
});
