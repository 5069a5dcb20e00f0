import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { ACCESSOR_SHARDS, accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { SAFETY_AGE_MS } from "../../../src/listing/inventory/entry.ts";
import { noteWaiting, publishRecent } from "../../../src/listing/updates/publish.ts";
import { decodeStoredId } from "../../../src/token/ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls, callsTo, failing } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { loseCreationUpdates } from "../../support/faults.ts";
import { bindings, bodyOf, call, createToken, dataOf, initialized, keysOf } from "../../support/service.ts";
import { alter, deleteRows } from "../../support/storage-writer.ts";
import { holdTidy, tidyNow } from "../../support/tidy.ts";
import { evictTree, holdSweeps, locate, restartTree, runAlarm } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
  for (const name of ["web", "one"]) {
    const policy = 'path "auth/token/create" { capabilities = ["update", "sudo"] }';
    await call("POST", `sys/policies/acl/${name}`, { token: root, body: { policy } });
  }
});

async function listed(query: string) {
  const answer = await call("GET", `sys/tokens?${query}`, { token: root });
  expect(answer.status).toBe(200);
  return dataOf<{ tokens: Record<string, unknown>[]; next: string; scanned: number }>(answer);
}

async function accessorsOf(query: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let after = ""; ; ) {
    const page = await listed(`${query}&after=${after}`);
    all.push(...page.tokens.map(({ accessor }) => accessor));
    if (page.next === "") return all;
    after = page.next;
  }
}

it("follows a renewal by another token, which is no use of the renewed one", async () => {
  const { client_token: token } = await createToken(root, { display_name: "renewed", ttl: "1h" });
  const ends = async () => Date.parse(String((await listed("display_name=token-renewed")).tokens[0]?.expires));
  const before = await ends();
  const renewed = await call("POST", "auth/token/renew", { token: root, body: { token, increment: "5h" } });
  expect(renewed.status).toBe(200);
  expect(Math.round(((await ends()) - before) / 3_600_000)).toBe(4);
});

describe("the page of tokens", () => {
  it("shows a token right after its creation with all that is known about it", async () => {
    const meta = { owner: "payments", ticket: "a=b" };
    const parent = await createToken(root, { display_name: "deployer", policies: ["web"], meta, no_parent: true });
    const child = await createToken(parent.client_token, { num_uses: 9, period: "1h", ttl: "1h", policies: ["web"] });
    await call("GET", "auth/token/lookup-self", { token: child.client_token });
    const { tokens } = await listed("display_name=token-deployer");
    expect(tokens).toMatchObject([
      {
        accessor: parent.accessor,
        display_name: "token-deployer",
        path: "auth/token/create",
        mount: "auth/token/",
        mount_accessor: expect.stringMatching(/^auth_token_/),
        type: "service",
        policies: ["default", "web"],
        role: "",
        entity_id: "",
        metadata: meta,
        renewed: null,
        num_uses: 0,
        uses_left: 0,
        period: 0,
        explicit_max_ttl: 0,
        orphan: true,
        parent: null,
        children: 1,
        last_used: expect.stringMatching(/:00:00.000Z$/),
        tree: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
    const below = await listed(`tree=${tokens[0]?.tree}&orphan=false`);
    expect(below.tokens).toMatchObject([
      { accessor: child.accessor, parent: parent.accessor, orphan: false, num_uses: 9, uses_left: 8, children: 0 },
    ]);
    expect(below.tokens[0]?.metadata).toEqual({});
    const place = await call("GET", `sys/tokens/${parent.accessor}`, { token: root });
    expect(place.body.data.token.metadata).toEqual(meta);
    expect(JSON.stringify([tokens, below])).not.toContain(parent.client_token);
  });

  it("needs sudo", async () => {
    await call("POST", "sys/policies/acl/reader", {
      token: root,
      body: { policy: 'path "sys/tokens*" { capabilities = ["read", "list"] }' },
    });
    const { client_token } = await createToken(root, { policies: ["reader"] });
    for (const path of ["sys/tokens", "sys/tokens/summary", "sys/tokens/map", "sys/tokens?list=true"]) {
      expect((await call("GET", path, { token: client_token })).status).toBe(403);
    }
  });

  it("follows renewals and forgets what was revoked", async () => {
    const made = await createToken(root, { display_name: "short", ttl: "1h" });
    const [before] = (await listed("display_name=token-short")).tokens;
    expect(before?.renewed).toBeNull();
    await call("POST", "auth/token/renew-self", { token: made.client_token, body: { increment: "3h" } });
    const [after] = (await listed("display_name=token-short")).tokens;
    expect(after?.renewed).not.toBeNull();
    expect(Date.parse(String(after?.expires))).toBeGreaterThan(Date.parse(String(before?.expires)));
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: made.accessor } });
    await expect.poll(async () => (await listed("display_name=token-short")).tokens).toEqual([]);
  });

  it.each([
    ["an unknown order", "sort=name"],
    ["a cursor of another order", "sort=end&after=ca1.1.1"],
    ["a cursor that is none", "after=x"],
    ["a limit that is too large", "limit=1001"],
    ["a type that is not listed", "type=batch"],
    ["a mount that is not there", "mount=auth/nothing/"],
    ["a path with its base path", "path_prefix=/v1/auth/token"],
    ["a path with a slash at its beginning", "path_prefix=/auth/token"],
    ["a time that is none", "created_after=yesterday"],
    ["a tree that is none", "tree=x"],
    ["a pair without a value", "metadata=owner"],
    ["a pair without a name", "metadata==payments"],
    ["a name with two values", "metadata=owner=a&metadata=owner=b"],
    ["too many pairs", Array.from({ length: 33 }, (_, i) => `metadata=n${i}=v`).join("&")],
    ["an order with the name of a prototype", "sort=__proto__"],
    ["an order with the name of a constructor", "sort=constructor"],
  ])("refuses %s", async (_, query) => {
    expect((await call("GET", `sys/tokens?${query}`, { token: root })).status).toBe(400);
  });
});

describe("filters", () => {
  const made: Record<string, string> = {};

  beforeAll(async () => {
    await call("POST", "auth/token/roles/builder", { token: root, body: {} });
    const orphan = await createToken(root, { display_name: "f-orphan", no_parent: true, ttl: "5h", policies: ["one"] });
    made.orphan = orphan.accessor;
    const ofChild = { display_name: "f-child", ttl: "50h", policies: ["one", "two"], meta: { owner: "a=b", run: "7" } };
    made.child = (await createToken(root, ofChild)).accessor;
    made.below = (
      await createToken(orphan.client_token, { display_name: "f-below", ttl: "4h", meta: { owner: "a=b" } })
    ).accessor;
    const byRole = await call("POST", "auth/token/create/builder", { token: root, body: { display_name: "f-role" } });
    made.role = byRole.body.auth.accessor;
  });

  it.each([
    ["display_name=token-f-child", ["child"]],
    ["display_name=token-f-*", ["orphan", "child", "below", "role"]],
    ["policy=one", ["orphan", "child", "below"]],
    ["policy=two", ["child"]],
    ["role=builder", ["role"]],
    ["metadata=owner=a=b", ["child", "below"]],
    ["metadata=owner=a%3Db&metadata=run=7", ["child"]],
    ["metadata=owner=a", []],
    ["metadata=toString=", []],
    ["path_prefix=auth/token/create/builder", ["role"]],
    ["display_name=token-f-*&orphan=true", ["orphan"]],
    ["display_name=token-f-*&mount=token&role=builder", ["role"]],
    ["display_name=token-f-*&never_ends=true", ["role"]],
    ["display_name=token-f-*&sort=-created", ["role", "below", "child", "orphan"]],
    ["display_name=token-f-*&sort=end", ["below", "orphan", "child", "role"]],
    ["display_name=token-f-*&sort=-end", ["role", "child", "orphan", "below"]],
    [`display_name=token-f-*&ends_before=${Math.floor(Date.now() / 1000) + 10 * 3600}`, ["orphan", "below"]],
    [`display_name=token-f-*&created_after=${Math.floor(Date.now() / 1000) + 3600}`, []],
    [`display_name=token-f-*&unused_since=${Math.floor(Date.now() / 1000) - 3600}`, []],
  ])("%s", async (query, names) => {
    const nameOf = new Map(Object.entries(made).map(([name, accessor]) => [accessor, name]));
    expect((await accessorsOf(query)).map((accessor) => nameOf.get(String(accessor)))).toEqual(names);
  });

  it("a list gives accessors as keys", async () => {
    const answer = await call("GET", "sys/tokens?list=true&display_name=token-f-child", { token: root });
    expect(answer.body.data).toMatchObject({
      keys: [made.child],
      key_info: { [made.child ?? ""]: { display_name: "token-f-child" } },
    });
  });

  it("pages by cursor through all tokens in every order, each once", async () => {
    const all = (await accessorsOf("limit=1000")).sort();
    expect(all.length).toBeGreaterThan(5);
    for (const sort of ["created", "-created", "end", "-end"]) {
      const paged = await accessorsOf(`limit=2&sort=${sort}`);
      expect([...paged].sort()).toEqual(all);
    }
  });
});

describe("summaries", () => {
  it("count by group from counters, and name what they count", async () => {
    const accessors = (await accessorsOf("limit=1000")) as string[];
    const total = accessors.length;
    const summary = async (query: string) =>
      dataOf<{
        groups: { key: string; count: number }[];
        total: number;
      }>(await call("GET", `sys/tokens/summary?${query}`, { token: root }));
    expect(await summary("group_by=mount")).toMatchObject({ groups: [{ key: "auth/token/", count: total }], total });
    const byPolicy = await summary("group_by=policy");
    expect(byPolicy.groups.find(({ key }) => key === "two")?.count).toBe(1);
    expect((await summary("group_by=role&mount=token")).groups).toMatchObject([{ key: "builder", count: 1 }]);
    expect((await summary("group_by=metadata.owner")).groups).toMatchObject([
      { key: "a=b", count: 2 },
      { key: "payments", count: 1 },
    ]);
    expect((await summary("group_by=metadata.owner&mount=token")).total).toBe(total);
    expect((await summary("group_by=metadata.nothing")).groups).toEqual([]);
    const byName = await summary("group_by=display_name");
    expect(byName.groups.find(({ key }) => key === "token-f-child")?.count).toBe(1);
    for (const kind of ["end_hour", "created_hour", "display_name"]) {
      const { groups } = await summary(`group_by=${kind}`);
      expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(total);
    }
    for (const by of ["__proto__", "constructor", "colour"]) {
      expect((await call("GET", `sys/tokens/summary?group_by=${by}`, { token: root })).status).toBe(400);
    }
  });

  it("the map names the largest trees and counts the rest", async () => {
    const map = dataOf<{
      groups: { mount: string; count: number; trees: number; largest: { tree: string; count: number }[] }[];
      total: number;
    }>(await call("GET", "sys/tokens/map", { token: root }));
    const [group] = map.groups;
    const total = (await accessorsOf("limit=1000")).length;
    expect(map).toMatchObject({ total, groups: [{ mount: "auth/token/", count: total }] });
    // The root token's, and those of two orphans that have a child.
    expect(group?.largest.map(({ count }) => count)).toEqual([total - 4, 2, 2]);
    expect(group?.trees).toBe(3);
    const byTree = await call("GET", "sys/tokens/summary?group_by=tree", { token: root });
    expect(byTree.body.data).toMatchObject({
      groups: [{ key: group?.largest[0]?.tree, count: total - 4 }, { count: 2 }, { count: 2 }],
    });
    // A tree whose first token ends meanwhile is not named.
    const ended = atCalls(AccessorShard, "findListed", () => []);
    const later = await call("GET", "sys/tokens/map", { token: root });
    expect(later.body.data).toMatchObject({
      groups: [{ count: total, trees: 3, largest: [], rest: { trees: 3, count: total, estimated: false } }],
    });
    ended.end();
  });
});

it("a token that its tree did not list, and a renewal, enter the inventory with the next tidy run", async () => {
  const made = await createToken(root, { display_name: "lost", ttl: "2h", policies: ["default"] });
  const place = decodeStoredId(made.accessor);
  const before = await listed("display_name=token-lost");
  expect(before.tokens).toHaveLength(1);
  const shard = accessorShard(bindings, accessorShardNumber(made.accessor));
  holdTidy();
  const id = place?.row ?? 0;
  for (const damage of [
    () => deleteRows(shard, "inventory", { id }),
    () => alter(shard, "UPDATE inventory SET ends = 1, entry = json_set(entry, '$.expiresAt', 1) WHERE id = ?", id),
  ]) {
    await damage();
    expect((await listed("display_name=token-lost")).tokens).toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + SAFETY_AGE_MS + 1000 });
    expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 0 });
    vi.useRealTimers();
    expect((await listed("display_name=token-lost")).tokens).toEqual(before.tokens);
  }
});

type Created = { auth: { client_token: string; accessor: string } };

it.each([
  ["its own terms", "auth/token/create"],
  ["the terms of its role", "auth/token/create/renewing"],
])("a list has the tree of a token that was renewed on %s publish the expiry", async (_, path) => {
  await call("POST", "auth/token/roles/renewing", { token: root, body: { orphan: true } });
  const body = { ttl: "1h", no_parent: true, policies: ["default"] };
  const { auth: made } = bodyOf<Created>(await call("POST", path, { token: root, body }));
  const { stub, treeId } = await locate(made.client_token);
  await publishRecent(bindings, Date.now());
  await call("POST", "auth/token/renew-accessor", { token: root, body: { accessor: made.accessor, increment: "2h" } });
  // As if the tree were in another isolate, which alone has noted that it waits.
  noteWaiting(treeId, false);
  const published = callsTo(TokenTree, "publishUpdates");
  await publishRecent(bindings, Date.now());
  expect(published.calls.map(({ id }) => id)).toEqual([stub.id.toString()]);
});

it.each([
  ["a list", "GET", "sys/tokens?display_name=token-unstored", undefined],
  ["a count", "GET", "sys/tokens/summary", undefined],
  ["a revocation that counts first", "POST", "sys/tokens/revoke", { display_name: "token-unstored" }],
])("%s is refused as long as a shard can't store a new token", async (_, method, path, body) => {
  const full = failing(AccessorShard, "applyUpdates", "database or disk is full: SQLITE_FULL");
  const { accessor } = await createToken(root, { display_name: "unstored", policies: ["default"] });
  const answer = await call(method, path, { token: root, ...(body && { body }) });
  expect(answer.status).toBe(503);
  expect(answer.body).toEqual({ errors: [expect.stringContaining("the disk of the service is full")] });
  full.end();
  expect((await listed("display_name=token-unstored")).tokens).toContainEqual(expect.objectContaining({ accessor }));
});

describe("the last use of a token", () => {
  it("is published to the hour, once an hour, and kept when the tree has forgotten it", async () => {
    const made = await createToken(root, { display_name: "used", no_parent: true, policies: ["default"] });
    const { stub } = await locate(made.client_token);
    const use = () => call("GET", "auth/token/lookup-self", { token: made.client_token });
    const shown = async (query = "") => (await listed(`display_name=token-used${query}`)).tokens[0]?.last_used;
    expect(await shown()).toBeNull();
    const told = callsTo(AccessorShard, "applyUpdates");
    const written = await costOf(stub, use);
    expect(written.rowsWritten).toBe(0);
    const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
    await expect.poll(() => shown()).toBe(hour);
    const calls = () =>
      told.calls
        .flatMap(({ args: [{ made, changed }] }) => [...made, ...changed])
        .filter(({ accessor }) => accessor === made.accessor);
    const before = calls().length;
    await use();
    await stub.publishUpdates();
    expect(calls()).toHaveLength(before);
    told.end();
    await evictTree(stub);
    await call("POST", "auth/token/renew-accessor", { token: root, body: { accessor: made.accessor } });
    expect(await shown()).toBe(hour);
    const seconds = Math.floor(Date.now() / 1000);
    expect(await shown(`&unused_since=${seconds}`)).toBeUndefined();
    expect(await shown(`&unused_since=${seconds + 3600}`)).toBe(hour);
  });
});

it("the last use of a token is not published while TRACK_LAST_USE is false", async () => {
  const made = await createToken(root, { display_name: "untracked", no_parent: true, policies: ["default"] });
  const { stub } = await locate(made.client_token);
  const setting = (value: string) =>
    runInDurableObject(stub, (tree) => {
      const env: object = Reflect.get(tree, "env");
      Reflect.set(env, "TRACK_LAST_USE", value);
    });
  const lastUse = async () => {
    await call("GET", "auth/token/lookup-self", { token: made.client_token });
    await stub.publishUpdates();
    return (await listed("display_name=token-untracked")).tokens[0]?.last_used;
  };
  await setting("false");
  try {
    expect(await lastUse()).toBeNull();
  } finally {
    await setting("true");
  }
  expect(await lastUse()).toMatch(/:00:00/);
});

describe("a crash between the answer to a creation and the call that lists the token", () => {
  const accessors = async () => keysOf(await call("GET", "auth/token/accessors?list=true", { token: root }));
  afterEach(() => vi.useRealTimers());

  it("leaves a child in the outbox of its tree, whose alarm lists it", async () => {
    const parent = await createToken(root, { no_parent: true, policies: ["web"] });
    holdSweeps();
    const lost = loseCreationUpdates();
    const child = await createToken(parent.client_token);
    lost.end();
    const stub = await restartTree((await locate(parent.client_token)).stub);
    const listed = () =>
      accessorShard(bindings, accessorShardNumber(child.accessor))
        .list("", 10_000)
        .then((all) => all.includes(child.accessor));
    expect(await listed()).toBe(false);
    await runAlarm(stub);
    expect(await listed()).toBe(true);
    // The outbox is empty: the tree has no pending update.
    const told = callsTo(AccessorShard, "applyUpdates");
    await runAlarm(await restartTree(stub));
    expect(told.calls).toEqual([]);
  });

  it("leaves a first token to the shard that allocated its tree, which asks the tree a minute later", async () => {
    const lost = loseCreationUpdates();
    const made = await createToken(root, { no_parent: true, policies: ["web"], display_name: "kept" });
    lost.end();
    expect(await accessors()).not.toContain(made.accessor);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    for (let number = 0; number < ACCESSOR_SHARDS; number++) {
      await runInDurableObject(accessorShard(bindings, number), (shard) => shard.alarm());
    }
    expect(await accessors()).toContain(made.accessor);
    expect((await listed("display_name=token-kept")).tokens).toHaveLength(1);
    const reports = callsTo(TokenTree, "report");
    vi.setSystemTime(Date.now() + 61_000);
    for (let number = 0; number < ACCESSOR_SHARDS; number++) {
      await runInDurableObject(accessorShard(bindings, number), (shard) => shard.alarm());
    }
    // Nobody is asked again.
    expect(reports.calls).toEqual([]);
  });

  it("is no answer to the shard that allocated its tree, which asks again, while the shard of the token does not take it", async () => {
    const lost = loseCreationUpdates();
    const made = await createToken(root, { no_parent: true, policies: ["web"], display_name: "untaken" });
    lost.end();
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { stub } = await locate(made.client_token);
    const away = failing(AccessorShard, "applyUpdates");
    await runInDurableObject(stub, async (tree: TokenTree) => {
      await expect(tree.report()).rejects.toThrow("a shard does not answer");
    });
    away.end();
    expect(await stub.report()).toBe(false);
    expect(await accessors()).toContain(made.accessor);
  });

  it("of the shard makes the trees send their tokens again", async () => {
    const gone = failing(AccessorShard, "applyUpdates", "Network connection lost.");
    const made = await createToken(root, { no_parent: true, policies: ["web"] });
    expect((await call("GET", "auth/token/accessors?list=true", { token: root })).status).toBe(503);
    gone.end();
    expect(await accessors()).toContain(made.accessor);
  });
});
