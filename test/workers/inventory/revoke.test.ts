import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shard.ts";
import type { InventoryEntry } from "../../../src/listing/inventory/entry.ts";
import { revocationsOf, TokenRevocations } from "../../../src/listing/inventory/revocations.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { growTree, holdSweeps, locate, sweep } from "../../support/trees.ts";

let root: string;

afterEach(() => vi.useRealTimers());

type Made = Awaited<ReturnType<typeof createToken>>;

const post = async (path: string, body: Record<string, unknown>, token = root) => {
  const answer = await call("POST", path, { token, body });
  return { status: answer.status, data: dataOf<Record<string, unknown>>(answer) };
};
const read = async (path: string) => {
  const answer = await call("GET", path, { token: root });
  return dataOf<Record<string, unknown>>(answer);
};
const isAlive = async ({ client_token: token }: Pick<Made, "client_token">) =>
  (await call("GET", "auth/token/lookup-self", { token })).status === 200;

beforeAll(async () => {
  root = await initialized();
  const policy =
    'path "auth/token/create" { capabilities = ["update", "sudo"] } path "cubbyhole/*" { capabilities = ["create", "update"] }';
  await call("POST", "sys/policies/acl/maker", { token: root, body: { policy } });
  const operator =
    'path "sys/tokens/*" { capabilities = ["read", "update", "sudo"] } path "auth/token/create" { capabilities = ["update", "sudo"] }';
  await call("POST", "sys/policies/acl/operator", { token: root, body: { policy: operator } });
});

describe("the lineage of a token", () => {
  it("names what is above and below it, and counts what a revocation would take along", async () => {
    const top = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "top" });
    const middle = await createToken(top.client_token, { policies: ["maker"], display_name: "middle" });
    const [low, lower] = [
      await createToken(middle.client_token, { policies: ["maker"], display_name: "low" }),
      await createToken(middle.client_token, { policies: ["maker"], display_name: "lower" }),
    ];
    const lowest = await createToken(low.client_token, { display_name: "lowest" });
    await call("POST", "cubbyhole/a", { token: lowest.client_token, body: { k: "v" } });
    const register = { accessor: low.accessor, path: "db/creds/x", ttl: "1h", target: "https://db.example.com/revoke" };
    const lease = await post("sys/leases/register", register);
    expect(lease.status).toBe(200);

    const lineage = await read(`sys/tokens/${middle.accessor}?limit=1`);
    expect(lineage).toMatchObject({
      token: { accessor: middle.accessor, parent: top.accessor, children: 2 },
      ancestors: [{ accessor: top.accessor }],
      ancestors_more: false,
      children: [{ accessor: low.accessor }],
      descendants: { count: 3, more: false },
      leases: { count: 1, more: false },
      held_leases: [],
      cubbyhole: { values: 1, more: false },
    });
    const held = await read(`sys/tokens/${low.accessor}`);
    const id = expect.stringMatching(/^db\/creds\/x\/./);
    expect(held).toMatchObject({ held_leases: [{ lease_id: id, expire_time: expect.any(String) }] });
    const next = await read(`sys/tokens/${middle.accessor}?limit=1&after=${lineage.children_next}`);
    expect(next).toMatchObject({ children: [{ accessor: lower.accessor }], children_next: "" });
    expect((await read(`sys/tokens/${lowest.accessor}`)).ancestors).toMatchObject(
      [top, middle, low].map(({ accessor }) => ({ accessor })),
    );
    expect(await read(`sys/tokens/${top.accessor}/tree`)).toMatchObject({
      token: { accessor: top.accessor },
      children: [
        {
          token: { accessor: middle.accessor },
          descendants: { count: 3, more: false },
          children: [
            { token: { accessor: low.accessor }, descendants: { count: 1, more: false } },
            { token: { accessor: lower.accessor }, descendants: { count: 0, more: false } },
          ],
        },
      ],
      more: false,
    });
    await call("POST", "auth/token/revoke", { token: root, body: { token: middle.client_token } });
    expect((await call("GET", `sys/tokens/${middle.accessor}`, { token: root })).status).toBe(404);
    expect((await call("GET", `sys/tokens/${low.accessor}`, { token: root })).status).toBe(404);
    expect((await call("GET", "sys/tokens/garbage", { token: root })).status).toBe(404);
  });
});

describe("revocation by a filter", () => {
  const finished = async (job: unknown) => {
    await expect
      .poll(async () => (await read(`sys/tokens/jobs/${job}`)).state, { timeout: 20_000 })
      .not.toBe("running");
    return read(`sys/tokens/jobs/${job}`);
  };

  it("shows what it would do, and then does that with all that hangs below", async () => {
    const victims = [
      await createToken(root, { display_name: "b-a", policies: ["maker"] }),
      await createToken(root, { display_name: "b-b", no_parent: true, policies: ["maker"] }),
    ];
    const below = await createToken(victims[1]?.client_token ?? "", { display_name: "other" });
    const bystander = await createToken(root, { display_name: "c", policies: ["maker"] });
    const filter = { display_name: "token-b-*" };
    const preview = await post("sys/tokens/revoke", filter);
    expect(preview.data).toMatchObject({
      count: 2,
      more: false,
      sample: victims.map(({ accessor }) => ({ accessor })),
      leases: { count: 0, more: false },
      skipped: { root: 0, self: 0 },
    });
    expect(await Promise.all(victims.map(isAlive))).toEqual([true, true]);
    const { data } = await post("sys/tokens/revoke", { ...filter, dry_run: false, expected_count: 2 });
    const job = await finished(data.job);
    expect(job).toMatchObject({ state: "done", expected: 2, revoked: 2, remaining: null, failures: [] });
    // A job shows what was meant, and keeps nothing else of the request.
    expect(job.filter).toEqual(filter);
    expect(await Promise.all([...victims, below, bystander].map(isAlive))).toEqual([false, false, false, true]);
    expect((await read("sys/tokens/jobs")).jobs).toHaveLength(1);
  });

  it.each([
    ["a filter that means all", { dry_run: true }],
    ["a filter and accessors at once", { role: "x", accessors: ["y"] }],
    ["what is no accessor", { accessors: ["y"] }],
    ["a call without the count of a dry run", { display_name: "token-x", dry_run: false }],
  ])("refuses %s", async (_, body) => {
    expect((await post("sys/tokens/revoke", body)).status).toBe(400);
  });

  it("refuses when the count grew", async () => {
    const first = await createToken(root, { display_name: "grow", policies: ["default"] });
    await createToken(root, { display_name: "grow", policies: ["default"] });
    const real = { display_name: "token-grow", dry_run: false, expected_count: 1 };
    expect((await post("sys/tokens/revoke", real)).status).toBe(400);
    expect(await isAlive(first)).toBe(true);
  });

  it("spares the caller with all above it and root tokens, unless they are named", async () => {
    const above = await createToken(root, { display_name: "s", policies: ["operator"], no_parent: true });
    const caller = await createToken(above.client_token, { display_name: "s", policies: ["operator"] });
    const sibling = await createToken(above.client_token, { display_name: "s", policies: ["operator"] });
    const rootToken = await createToken(root, { display_name: "s", policies: ["root"] });
    const filter = { display_name: "token-s" };
    const preview = await post("sys/tokens/revoke", filter, caller.client_token);
    expect(preview.data).toMatchObject({ count: 1, skipped: { root: 1, self: 2 } });
    const real = { ...filter, dry_run: false, expected_count: 1 };
    const { data } = await post("sys/tokens/revoke", real, caller.client_token);
    expect(await finished(data.job)).toMatchObject({ state: "done", revoked: 1, spared: 3 });
    expect(await Promise.all([above, caller, sibling, rootToken].map(isAlive))).toEqual([true, true, false, true]);
    await sweep((await locate(above.client_token)).stub);
    const all = { ...filter, include_root: true, include_self: true };
    expect((await post("sys/tokens/revoke", all, caller.client_token)).data).toMatchObject({ count: 3 });
    const last = { ...all, dry_run: false, expected_count: 3 };
    await finished((await post("sys/tokens/revoke", last, caller.client_token)).data.job);
    expect(await Promise.all([above, caller, rootToken].map(isAlive))).toEqual([false, false, false]);
  });

  it("takes tokens by name", async () => {
    const named = await createToken(root, { display_name: "n", policies: ["default"] });
    const accessors = [named.accessor];
    const preview = await post("sys/tokens/revoke", { accessors });
    expect(preview.data).toMatchObject({ count: 1, sample: [{ accessor: named.accessor }] });
    const { data } = await post("sys/tokens/revoke", { accessors, dry_run: false, expected_count: 1 });
    expect(await finished(data.job)).toMatchObject({ state: "done", revoked: 1 });
    expect(await isAlive(named)).toBe(false);
  });

  it("goes on although its alarm was lost: the object sets it again when it wakes", async () => {
    const victim = await createToken(root, { display_name: "lost", policies: ["default"] });
    // Ahead of the platform's clock, so that no alarm goes off by itself.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    const real = { accessors: [victim.accessor], dry_run: false, expected_count: 1 };
    const { data } = await post("sys/tokens/revoke", real);
    const jobs = revocationsOf(bindings);
    await runInDurableObject(jobs, (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(jobs);
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "running" });
    expect(await runDurableObjectAlarm(jobs)).toBe(true);
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "done", revoked: 1 });
    expect(await isAlive(victim)).toBe(false);
  });

  it("goes on after a crash in any step, is stopped between two, and revokes exactly what the filter means", async () => {
    holdSweeps();
    const held = vi.spyOn(TokenRevocations.prototype, "alarm").mockResolvedValue();
    const parent = await createToken(root, { no_parent: true, policies: ["default"], display_name: "k" });
    const grown = await growTree(parent.client_token, 450, "wide");
    const bystander = await createToken(root, { display_name: "k2", policies: ["default"] });
    const { stub } = await locate(parent.client_token);
    // Rows that a test wrote are not published by their tree.
    const rows = await runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec<{ row: number }>("SELECT row FROM tokens WHERE parent IS NOT NULL").toArray(),
    );
    await listAgain(await stub.describe(rows.map(({ row }) => row)));
    // Their row numbers are up to half a second ahead, and tokens made after the start are not meant.
    const aheadUntil = Date.now() + 500;
    await expect.poll(() => Date.now() > aheadUntil).toBe(true);
    const filter = { display_name: "token-k", orphan: false };
    expect((await post("sys/tokens/revoke", filter)).data).toMatchObject({ count: 450 });
    const { data } = await post("sys/tokens/revoke", { ...filter, dry_run: false, expected_count: 450 });
    const jobs = revocationsOf(bindings);
    const step = async () => {
      await runInDurableObject(jobs, (object) => ALARM.call(object));
      return read(`sys/tokens/jobs/${data.job}`);
    };
    expect(await step()).toMatchObject({ state: "running", revoked: 200, remaining: 250 });
    // The tree does its part, and the job can't write that down.
    const original = TokenTree.prototype.revokeFiltered;
    const failing = vi.spyOn(TokenTree.prototype, "revokeFiltered");
    failing.mockImplementationOnce(async function lost(this: TokenTree, request) {
      await original.call(this, request);
      throw new Error("the answer is lost");
    });
    expect(await step()).toMatchObject({ state: "running", revoked: 200, failures: [expect.any(String)] });
    failing.mockRestore();
    expect(await step()).toMatchObject({ revoked: 200, ended_before: 200, failures: [] });
    expect(await step()).toMatchObject({ state: "done", revoked: 250, ended_before: 200 });
    expect(await Promise.all(grown.map((client_token) => isAlive({ client_token })))).toEqual([false, false, false]);
    expect(await Promise.all([parent, bystander].map(isAlive))).toEqual([true, true]);

    const again = await post("sys/tokens/revoke", { display_name: "token-k2", dry_run: false, expected_count: 1 });
    expect((await post(`sys/tokens/jobs/${again.data.job}/stop`, {})).data).toMatchObject({
      state: "stopped",
      revoked: 0,
    });
    await runInDurableObject(jobs, (object) => ALARM.call(object));
    expect(await isAlive(bystander)).toBe(true);
    expect((await call("POST", "sys/tokens/jobs/nothing/stop", { token: root })).status).toBe(404);
    held.mockRestore();
    await runDurableObjectAlarm(jobs);
  });
});

// Last: its row numbers are some seconds ahead.
it("lineage is bounded for wide and for deep trees", async () => {
  const wide = await createToken(root, { no_parent: true, ttl: "1h" });
  await growTree(wide.client_token, 10_050, "wide");
  expect(await read(`sys/tokens/${wide.accessor}?limit=1`)).toMatchObject({
    descendants: { count: 10_000, more: true },
    token: { children: 10_050 },
  });
  expect(await read(`sys/tokens/${wide.accessor}/tree`)).toMatchObject({ more: true });
  const deep = await createToken(root, { no_parent: true, ttl: "1h" });
  const [, , deepest = ""] = await growTree(deep.client_token, 150, "chain");
  const { accessor } = (await call("GET", "auth/token/lookup-self", { token: deepest })).body.data;
  const lineage = await read(`sys/tokens/${accessor}`);
  expect(lineage.ancestors).toHaveLength(100);
  expect(lineage.ancestors_more).toBe(true);
});

const ALARM = TokenRevocations.prototype.alarm;

/** Lists tokens and describes them, as their creation would have done. */
async function listAgain(entries: readonly InventoryEntry[]): Promise<void> {
  for (const [number, of] of Map.groupBy(entries, ({ accessor }) => accessorShardNumber(accessor))) {
    const shard = accessorShard(bindings, number);
    await shard.applyUpdates({ made: of, changed: [], sizes: [], started: [] });
  }
}
