import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { MAX_ENDING, MAX_READ_TREES } from "../../../src/listing/inventory/tree-groups.ts";
import { bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { growTree, holdSweeps, locate, sweep } from "../../support/trees.ts";

const HOUR_MS = 3_600_000;

let root: string;

beforeAll(async () => {
  root = await initialized();
  const policy = 'path "auth/token/create" { capabilities = ["update", "sudo"] }';
  await call("POST", "sys/policies/acl/web", { token: root, body: { policy } });
});
beforeEach(holdSweeps);
afterEach(() => vi.useRealTimers());

const read = async (path: string) => {
  const answer = await call("GET", path, { token: root });
  expect(answer.status).toBe(200);
  return dataOf<Record<string, unknown>>(answer);
};
const named = (answer: Record<string, unknown>, key: string) =>
  (answer.groups as { key: string }[]).find((group) => group.key === key);

it("the trees of each group are counted with all of their tokens, and what is in none is the rest", async () => {
  const made = { policies: ["web"], ttl: "2h", no_parent: true };
  const owner = (name: string) => ({ meta: { owner: name } });
  const api = await createToken(root, { ...made, display_name: "api", ...owner("payments") });
  await createToken(root, { ...made, display_name: "api", ...owner("search") });
  await createToken(root, { ...made, display_name: "cron", ...owner("payments") });
  // Below the first tree, of another name and owner.
  for (let at = 0; at < 3; at++) await createToken(api.client_token, { policies: ["web"], display_name: "job" });
  const names = await read("sys/tokens/summary?group_by=display_name");
  expect(named(names, "token-api")).toEqual({ key: "token-api", count: 2, trees: 2, in_trees: 5 });
  expect(named(names, "token-job")).toEqual({ key: "token-job", count: 3, trees: 0, in_trees: 0 });
  // The first root token has no owner.
  const owners = await read("sys/tokens/summary?group_by=metadata.owner&mount=auth/token");
  expect(owners).toMatchObject({
    groups: [
      { key: "payments", count: 2, trees: 2, in_trees: 5 },
      { key: "search", count: 1, trees: 1, in_trees: 1 },
    ],
    ...{ total: 7, other: 4, other_trees: { trees: 1, count: 1 } },
  });
  expect((await read("sys/tokens/summary?group_by=policy")).groups).not.toContainEqual(
    expect.objectContaining({ trees: expect.anything() }),
  );
  const map = await read("sys/tokens/map?group_by=metadata.owner");
  expect(map.groups).toMatchObject([
    {
      mount: "auth/token/",
      trees: 4,
      by_group: [
        { key: "payments", trees: 2, count: 5 },
        { key: "search", trees: 1, count: 1 },
      ],
      by_group_other: { trees: 1, count: 1 },
    },
  ]);
  expect(JSON.stringify(await read("sys/tokens/map"))).not.toContain("by_group");
  expect((await call("GET", "sys/tokens/map?group_by=policy", { token: root })).status).toBe(400);
  await call("POST", "auth/token/revoke", { token: root, body: { token: api.client_token } });
  await sweep((await locate(api.client_token)).stub);
  expect(named(await read("sys/tokens/summary?group_by=display_name"), "token-api")).toEqual({
    ...{ key: "token-api", count: 1, trees: 1, in_trees: 1 },
  });
});

it("what ends when is counted by group, exactly, and the rest together", async () => {
  const now = Date.now();
  const ending = (name: string, hours: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        createToken(root, { display_name: name, policies: ["web"], ttl: `${hours}h`, explicit_max_ttl: `${hours}h` }),
      ),
    );
  await ending("soon", 5, 4);
  await ending("late", 7, 3);
  await ending("rare", 7, 1);
  const from = new Date(now + 4 * HOUR_MS).toISOString();
  const ends = await read(`sys/tokens/ends?from=${from}&parts=4&limit=2`);
  expect(ends).toMatchObject({
    ...{ step: 3600, total: 8, parts: [0, 4, 0, 4] },
    groups: [
      { key: "token-soon", count: 4, parts: [0, 4, 0, 0] },
      { key: "token-late", count: 3, parts: [0, 0, 0, 3] },
    ],
    other: { count: 1, parts: [0, 0, 0, 1] },
  });
  expect(await read(`sys/tokens/ends?from=${from}&parts=2&step=2h&group_by=policy&limit=1`)).toMatchObject({
    ...{ parts: [4, 4], groups: [{ key: "default", count: 8 }], other: { count: 0 } },
  });
  expect(await read(`sys/tokens/ends?from=${from}&group_by=mount&mount=auth/token`)).toMatchObject({
    groups: [{ key: "auth/token/", count: 8 }],
  });
  // Nothing has a name that every object has.
  expect(await read(`sys/tokens/ends?from=${from}&parts=4&group_by=metadata.constructor`)).toMatchObject({
    ...{ total: 8, groups: [], other: { count: 8 } },
  });
  for (const wrong of ["group_by=tree", "parts=101", "limit=101", "step=32d", "mount=auth/none", "unknown=1"]) {
    expect((await call("GET", `sys/tokens/ends?${wrong}`, { token: root })).status).toBe(400);
  }
  const without = await tokenUnder(root, 'path "sys/tokens/*" { capabilities = ["read"] }');
  expect((await call("GET", "sys/tokens/ends", { token: without })).status).toBe(403);
});

it("a tree that grows after its first token is in its group with all that came", async () => {
  const top = await createToken(root, { policies: ["web"], ttl: "2h", no_parent: true, display_name: "grown" });
  await growTree(top.client_token, 40, "wide");
  const child = await createToken(top.client_token, { policies: ["web"] });
  expect(child.accessor).not.toBe("");
  expect(named(await read("sys/tokens/summary?group_by=display_name"), "token-grown")).toMatchObject({
    ...{ trees: 1, in_trees: 42 },
  });
});

describe("bounds of groups", () => {
  /** Puts copies of a token into one shard of the inventory, without counting them. */
  async function fill(accessor: string, rows: number, ends: number): Promise<() => Promise<void>> {
    const shard = accessorShard(bindings, accessorShardNumber(accessor));
    await alter(
      shard,
      `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
       INSERT INTO inventory (id, accessor, path, ends, tree_mount, tree_size, tree_class, entry)
       SELECT -n, accessor, '', ?, tree_mount, 2, 1, entry FROM n, inventory WHERE accessor = ?`,
      ...[rows, ends, accessor],
    );
    return () => alter(shard, "DELETE FROM inventory WHERE id < 0");
  }

  it("with more trees in a shard than are read, the answer has more and no number of trees", async () => {
    const top = await createToken(root, { policies: ["web"], ttl: "2h", no_parent: true, display_name: "crowd" });
    await createToken(top.client_token, { policies: ["web"] });
    await read("sys/tokens/summary");
    const grouped = ["summary", "map"].map((what) => `sys/tokens/${what}?group_by=display_name`);
    const restore = await fill(top.accessor, MAX_READ_TREES, 0);
    for (const path of grouped) {
      const answer = await read(path);
      expect(answer).toMatchObject({ more: true, total: expect.any(Number) });
      expect(JSON.stringify(answer)).not.toMatch(/"(other_trees|in_trees|by_group)/);
    }
    expect(await read("sys/tokens/summary?group_by=policy")).not.toHaveProperty("more");
    await restore();
    for (const path of grouped) expect(await read(path)).not.toHaveProperty("more");
  });

  it("with more ends in a shard than are read, a shorter time is asked for", async () => {
    const top = await createToken(root, { policies: ["web"], ttl: "2h", no_parent: true, display_name: "dusk" });
    await read("sys/tokens/summary");
    const ends = Date.now() + 90 * HOUR_MS;
    const time = (hours: number) => `sys/tokens/ends?from=${new Date(ends - hours * HOUR_MS).toISOString()}`;
    const restore = await fill(top.accessor, MAX_ENDING + 1, ends);
    const refused = await call("GET", time(1), { token: root });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [`more than ${MAX_ENDING} tokens of a shard end in this time: ask for a shorter one`],
    ]);
    expect((await call("GET", time(30), { token: root })).status).toBe(200);
    await restore();
    expect(await read(time(1))).toMatchObject({ total: 0 });
  });
});
