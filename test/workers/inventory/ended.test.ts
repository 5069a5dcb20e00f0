import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ACCESSOR_SHARD_MIGRATIONS } from "../../../src/listing/accessor-shard.ts";
import { ACCESSOR_SHARDS, accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import type { EndedQuery } from "../../../src/listing/inventory/ended-tokens.ts";
import type { OrderPosition } from "../../../src/listing/inventory/page-cursor.ts";
import { revocationsOf } from "../../../src/listing/inventory/revocation-jobs.ts";
import { InventoryStore } from "../../../src/listing/inventory/shard/inventory-store.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { Tables } from "../../../src/storage/tables.ts";
import { mustLoadInstallation } from "../../../src/system/installation.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { firstRowAt, readAccessor, routedIdText } from "../../../src/token/ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atNth } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { Meter } from "../../support/meter.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";
import { deleteRows } from "../../support/storage-writer.ts";
import { endSingleTokens, growTree, holdSweeps, locate, restartTree, sweep } from "../../support/trees.ts";

const DAY_MS = 86_400_000;
const NONE = { waiting: 0, failing: 0, removed: 0, more: false, failures: [] };

let root: string;
let operator: Made;

type Made = Awaited<ReturnType<typeof createToken>>;

interface Shown {
  readonly token: Record<string, unknown>;
  readonly ended: Record<string, unknown> & { readonly at: string };
}

beforeAll(async () => {
  root = await initialized();
  const policy = 'path "auth/token/*" { capabilities = ["create", "update", "sudo"] }';
  await call("POST", "sys/policies/acl/operator", { token: root, body: { policy } });
  operator = await createToken(root, { display_name: "on-call", policies: ["operator"], no_parent: true });
});

beforeEach(holdSweeps);
afterEach(() => vi.useRealTimers());

/** A family: a token with a child and a grandchild. */
async function family(fields: Record<string, unknown> = {}): Promise<[top: Made, child: Made, grandchild: Made]> {
  const made = { policies: ["operator"], display_name: "payments", ...fields };
  const top = await createToken(root, { ...made, no_parent: true });
  const child = await createToken(top.client_token, made);
  return [top, child, await createToken(child.client_token, made)];
}

const shown = async ({ accessor }: Pick<Made, "accessor">) =>
  dataOf<Shown>(await call("GET", `sys/tokens/${accessor}`, { token: root }));
const statusOf = async ({ accessor }: Pick<Made, "accessor">) =>
  (await call("GET", `sys/tokens/${accessor}`, { token: root })).status;
const listed = async (query = "") =>
  dataOf<{ tokens: Shown[]; next: string }>(await call("GET", `sys/tokens/ended?${query}`, { token: root }));
const accessorsOf = ({ tokens }: { readonly tokens: readonly Shown[] }) => tokens.map(({ token }) => token.accessor);
const sweepTreeOf = async ({ client_token }: Made) => sweep((await locate(client_token)).stub);

/** Lets time pass ahead of the platform's clock: no alarm goes off by itself. */
function pass(ms: number): void {
  const now = Date.now() + ms;
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"], now });
}

describe("a token that was revoked", () => {
  const BY = () => ({ accessor: operator.accessor, display_name: "token-on-call", entity_id: "" });

  it.each(["revoke", "revoke-accessor"])("by %s shows when, how and by whom, from the answer on", async (how) => {
    const [top, child, grandchild] = await family();
    const beside = await createToken(top.client_token, { no_parent: true, policies: ["operator"] });
    const { stub } = await locate(top.client_token);
    const body = how === "revoke" ? { token: top.client_token } : { accessor: top.accessor };
    expect((await call("POST", `auth/token/${how}`, { token: operator.client_token, body })).status).toBe(204);
    const whole = { how: "revoked", by: BY(), cause: top.accessor, job: "", request_id: expect.stringMatching(/-/) };
    const below = { ...whole, how: "revoked with its parent" };
    // Before the sweep the tree says so, and after it the list.
    for (const others of [0, 2]) {
      expect(await shown(top)).toMatchObject({
        token: { accessor: top.accessor, display_name: "token-payments", path: "auth/token/create" },
        ended: { ...whole, with: others },
      });
      expect(await shown(child)).toMatchObject({ ended: below, token: { display_name: "token-payments" } });
      expect(await shown(grandchild)).toMatchObject({ ended: below });
      await sweep(stub);
    }
    expect(accessorsOf(await listed(`cause=${top.accessor}`)).sort()).toEqual(
      [top, child, grandchild].map(({ accessor }) => accessor).sort(),
    );
    expect(accessorsOf(await listed(`cause=${child.accessor}`))).toEqual([]);
    expect(await shown(beside)).not.toHaveProperty("ended");
    // What clients look up is as it was.
    const lookup = { token: root, body: { accessor: child.accessor } };
    expect((await call("POST", "auth/token/lookup-accessor", lookup)).status).toBe(400);
    const answers = await Promise.all([shown(child), listed()]);
    for (const { client_token: secret } of [top, child, operator]) {
      expect(JSON.stringify(answers)).not.toContain(secret.slice(-20));
    }
  });

  it("is not counted among the others while the list has only what ended with it", async () => {
    const [top, child] = await family();
    await call("POST", "auth/token/revoke", { token: root, body: { token: top.client_token } });
    const { keys } = await mustLoadInstallation(bindings);
    const [place, { stub }] = await Promise.all([readAccessor(keys, child.accessor), locate(top.client_token)]);
    const ending = place && (await stub.unsweptEnd({ by: "accessor", row: place.row, tail: place.tail }));
    // A sweep that has come to the child, and not to what is above it.
    if (ending) await accessorShard(bindings, accessorShardNumber(child.accessor)).remove([ending]);
    expect(await shown(top)).toMatchObject({ ended: { cause: top.accessor, with: 1 } });
  });

  it("by itself is its own cause, and is known although it had not come to the list", async () => {
    const made = await createToken(root, { no_parent: true, policies: ["default"], display_name: "short" });
    const { stub } = await locate(made.client_token);
    await call("POST", "auth/token/revoke-self", { token: made.client_token });
    await sweep(stub);
    expect(await shown(made)).toMatchObject({
      token: { display_name: "token-short" },
      ended: { how: "revoked", by: { accessor: made.accessor }, with: 0 },
    });
  });

  it("alone leaves its children, whose records show no end", async () => {
    const [top, child] = await family();
    await call("POST", "auth/token/revoke-orphan", { token: root, body: { token: top.client_token } });
    await sweepTreeOf(top);
    expect(await shown(top)).toMatchObject({ ended: { how: "revoked", with: 0 } });
    expect(await shown(child)).toMatchObject({ token: { orphan: true }, ancestors: [] });
  });

  it("is known with its cause after a crash between the answer and the sweep, in a tree of any size", async () => {
    const top = await createToken(root, { no_parent: true, policies: ["operator"], display_name: "wide" });
    const inner = await createToken(top.client_token, { policies: ["operator"], display_name: "wide" });
    const grown = await growTree(inner.client_token, 700, "wide");
    const { stub } = await locate(top.client_token);
    await call("POST", "auth/token/revoke", { token: operator.client_token, body: { token: top.client_token } });
    const fresh = await restartTree(stub);
    await sweep(fresh);
    expect(await shown(inner)).toMatchObject({ ended: { how: "revoked with its parent", by: BY(), with: 701 } });
    const pages: unknown[] = [];
    for (let after = ""; ; ) {
      const page = await listed(`cause=${top.accessor}&limit=300&after=${after}`);
      pages.push(...accessorsOf(page));
      after = page.next;
      if (after === "") break;
    }
    expect(new Set(pages).size).toBe(702);
    expect(pages).toHaveLength(702);
    expect(grown).toHaveLength(3);
  });
});

describe("a token that ended by itself", () => {
  it("shows that its time was over, and what was below it ended with it", async () => {
    const alone = await createToken(root, { no_parent: true, policies: ["default"], ttl: "60s" });
    const [top, child] = await family({ ttl: "60s", explicit_max_ttl: "60s" });
    await publishPending(bindings);
    pass(62_000);
    await endSingleTokens();
    await sweepTreeOf(top);
    expect(await shown(alone)).toMatchObject({ ended: { how: "expired", by: null, cause: alone.accessor } });
    expect(await shown(top)).toMatchObject({ ended: { how: "expired", request_id: "" } });
    expect((await shown(child)).ended.how).toMatch(/^(expired|ended with its parent)$/);
    expect((await shown(top)).ended.at).toBe((await shown(top)).token.expires);
  });

  it("shows that its uses were spent", async () => {
    const made = await createToken(root, { no_parent: true, policies: ["default"], num_uses: 1 });
    await call("GET", "auth/token/lookup-self", { token: made.client_token });
    await sweepTreeOf(made);
    expect(await shown(made)).toMatchObject({ ended: { how: "uses spent", by: { accessor: made.accessor } } });
  });
});

it("tokens that a job revoked are found by the job, with all that ended with them", async () => {
  const [top, child, grandchild] = await family({ display_name: "leaked" });
  const body = { accessors: [child.accessor], dry_run: false, expected_count: 1 };
  const job = dataOf<{ job: string }>(await call("POST", "sys/tokens/revoke", { token: root, body })).job;
  await expect.poll(async () => (await revocationsOf(bindings).read(job))?.state).toBe("done");
  await sweepTreeOf(top);
  expect(accessorsOf(await listed(`job=${job}`)).sort()).toEqual([child.accessor, grandchild.accessor].sort());
  expect(await shown(grandchild)).toMatchObject({
    ended: { how: "revoked with its parent", job, cause: child.accessor, by: { display_name: "root" }, with: 1 },
  });
  const receipt = async (query = "") =>
    dataOf<Record<string, unknown>>(await call("GET", `sys/tokens/jobs/${job}/receipt?${query}`, { token: root }));
  const { accessors, ...rest } = await receipt();
  expect(rest).toMatchObject({ complete: true, numbers: { matched: 1, total: 2 }, asked_by: { display_name: "root" } });
  expect(accessors).toEqual(expect.arrayContaining([child.accessor, grandchild.accessor]));
  const first = await receipt("limit=1");
  const second = await receipt(`limit=1&after=${first.next}`);
  expect([first.accessors, second.accessors].flat().sort()).toEqual([child.accessor, grandchild.accessor].sort());
  expect([first, second].map((page) => "complete" in page)).toEqual([true, false]);
  expect((await call("GET", `sys/tokens/jobs/${job}/receipt?limit=901`, { token: root })).status).toBe(400);
  const verify = async (asked: Record<string, unknown>) =>
    dataOf(await call("POST", "sys/tokens/verify-ended", { token: root, body: asked }));
  expect(await verify({ job })).toEqual({
    checked: 2,
    ended: 2,
    unknown: 0,
    alive: [],
    unanswered: [],
    unrevoked_leases: NONE,
    leases: { asked: 0, more: false, ended: 0 },
    next: "",
  });
  const madeUp = `A${top.accessor.slice(1, -1)}A`;
  expect(await verify({ accessors: [top.accessor, child.accessor, madeUp, "garbage"] })).toEqual({
    ...{ checked: 4, ended: 1, unknown: 2, alive: [top.accessor], unanswered: [], unrevoked_leases: NONE, next: "" },
  });
  expect(await verify({ accessors: Array.from({ length: 900 }, (_, at) => `x${at}`) })).toMatchObject({ unknown: 900 });
  for (const [asked, status] of [
    [{ job: "none" }, 404],
    [{ accessors: Array.from({ length: 901 }, (_, at) => `x${at}`) }, 400],
  ] as const) {
    expect((await call("POST", "sys/tokens/verify-ended", { token: root, body: asked })).status).toBe(status);
  }
  const other = { token: operator.client_token, body: { job } };
  expect((await call("POST", "sys/tokens/verify-ended", other)).status).toBe(403);
  expect(await listed("job=none")).toMatchObject({ tokens: [], next: "" });
  expect((await call("GET", `sys/tokens/ended?job=${job}&cause=x`, { token: root })).status).toBe(400);
});

it("a check reads a row for each token that is named, and a page of a job what the page has", async () => {
  const [top, child, grandchild] = await family({ display_name: "checked" });
  const meter = new Meter();
  const verify = async (asked: Record<string, unknown>) => {
    meter.reset();
    const answer = await call("POST", "sys/tokens/verify-ended", { token: root, body: asked });
    return { data: dataOf(answer), costs: await meter.costs(), methods: meter.methods() };
  };
  const named = await verify({ accessors: [top, child, grandchild].map(({ accessor }) => accessor) });
  expect(named.data).toMatchObject({ checked: 3, ended: 0, alive: { length: 3 } });
  expect(named.costs["TokenTree.aliveOf"]).toMatchObject({ times: 1 });
  expect(named.costs["TokenTree.aliveOf"]?.rowsRead).toBeLessThanOrEqual(6);
  const body = { accessors: [child.accessor], dry_run: false, expected_count: 1 };
  const { job } = dataOf<{ job: string }>(await call("POST", "sys/tokens/revoke", { token: root, body }));
  await expect.poll(async () => (await revocationsOf(bindings).read(job))?.state).toBe("done");
  await sweepTreeOf(top);
  const page = await verify({ job });
  expect(page.data).toMatchObject({ checked: 2, ended: 2 });
  // Each shard once, which counts nothing: two tokens in the index and in the table, and a look at where there are none.
  expect(page.methods.filter((method) => /^AccessorShard\..*Ended|endedPage/.test(method))).toEqual(
    Array.from({ length: ACCESSOR_SHARDS }, () => "AccessorShard.endedPage"),
  );
  expect(page.costs["AccessorShard.endedPage"]?.rowsRead).toBeLessThanOrEqual(2 * ACCESSOR_SHARDS + 8);
  expect(page.costs["TokenTree.aliveOf"]).toMatchObject({ times: 1 });
  // A receipt counts all that the job ended on its first page, and on no other.
  const counts = async (after: string) => {
    meter.reset();
    const { next } = dataOf<{ next: string }>(
      await call("GET", `sys/tokens/jobs/${job}/receipt?limit=1&after=${after}`, { token: root }),
    );
    return { next, counted: meter.methods().filter((method) => method === "AccessorShard.countEnded").length };
  };
  const first = await counts("");
  const second = await counts(first.next);
  meter.stop();
  expect([first.counted, second.counted]).toEqual([ACCESSOR_SHARDS, 0]);
});

describe("what is kept of ended tokens", () => {
  it("is listed from the last to the first, page by page", async () => {
    const made: Made[] = [];
    pass(600_000);
    for (let i = 0; i < 5; i++) {
      made.push(await createToken(root, { no_parent: true, policies: ["default"] }));
    }
    for (const { client_token: token } of made) {
      pass(1000);
      await call("POST", "auth/token/revoke", { token: root, body: { token } });
    }
    for (const one of made) await sweepTreeOf(one);
    const first = await listed("limit=2");
    const second = await listed(`limit=3&after=${first.next}`);
    const expected = made.map(({ accessor }) => accessor).reverse();
    expect([...accessorsOf(first), ...accessorsOf(second)]).toEqual(expected);
    expect((await call("GET", "sys/tokens/ended?after=garbage", { token: root })).status).toBe(400);
    expect((await call("GET", "sys/tokens/ended?limit=1001", { token: root })).status).toBe(400);
  });

  it("goes after thirty days, or whatever TOMBSTONE_DAYS says, and 0 keeps nothing", async () => {
    const made = await createToken(root, { no_parent: true, policies: ["default"] });
    await call("POST", "auth/token/revoke", { token: root, body: { token: made.client_token } });
    await sweepTreeOf(made);
    const shard = accessorShard(bindings, accessorShardNumber(made.accessor));
    const rows = async () => (await rowsOf(shard, "ended")).length;
    pass(30 * DAY_MS - 60_000);
    expect(await statusOf(made)).toBe(200);
    pass(60_000);
    expect([await statusOf(made), (await rows()) > 0]).toEqual([404, true]);
    pass(3_600_001);
    await endSingleTokens();
    expect(await rows()).toBe(0);
    const setting = async (value: string | undefined) => {
      for (let number = 0; number < ACCESSOR_SHARDS; number++) {
        await runInDurableObject(accessorShard(bindings, number), (object) => {
          const env: object = Reflect.get(object, "env");
          Reflect.set(env, "TOMBSTONE_DAYS", value);
        });
      }
    };
    await setting("0");
    try {
      const other = await createToken(root, { no_parent: true, policies: ["default"] });
      await call("POST", "auth/token/revoke", { token: root, body: { token: other.client_token } });
      await sweepTreeOf(other);
      expect(await statusOf(other)).toBe(404);
      expect(await listed()).toMatchObject({ tokens: [] });
    } finally {
      await setting("30");
    }
  });

  it("is bounded: the oldest go first, and those of jobs have a bound of their own", async () => {
    const shard = accessorShard(bindings, 3);
    await deleteRows(shard, "ended");
    await deleteRows(shard, "counts", { kind: "ended" });
    await deleteRows(shard, "pending");
    await runInDurableObject(shard, (_, { storage: { sql } }) => {
      const store = new InventoryStore(new Tables(sql, ACCESSOR_SHARD_MIGRATIONS), 4, { job: 3, other: 2 });
      const ending = (at: number, job: string) => {
        const accessor = routedIdText("ab".repeat(32), firstRowAt(Date.UTC(2026, 5, 1)) + at, new Uint8Array(24));
        return { accessor, end: { ...NO_ORIGIN, at, how: "revoked", cause: accessor, job } } as const;
      };
      for (let at = 1; at <= 20; at++) store.remove([ending(at, at % 2 === 0 ? "job" : "")], 0);
      // Safe to repeat.
      store.remove([ending(19, ""), ending(20, "job")], 0);
      const filter = { from: 0, to: 100 };
      const page = store.ended.page({ filter, after: null, shard: 3, limit: 100 });
      expect(page.tokens.map(({ end }) => end.at)).toEqual([20, 19, 18, 17, 16]);
      expect([store.ended.count(filter), store.ended.count({ ...filter, job: "job" })]).toEqual([5, 3]);
      expect(store.index.countsOf("ended", "", ["job", "other"])).toEqual(
        expect.arrayContaining([
          { key: "job", count: 3 },
          { key: "other", count: 2 },
        ]),
      );
    });
  });

  it("costs about as many rows as its page has, however many ended, and at the same moment", async () => {
    const shard = accessorShard(bindings, 4);
    const now = Date.now();
    await runInDurableObject(shard, (_, { storage: { sql } }) => {
      const store = new InventoryStore(new Tables(sql, ACCESSOR_SHARD_MIGRATIONS));
      // Half of them by one job, all of those at one moment.
      const ending = (n: number) => {
        const accessor = routedIdText("cd".repeat(32), firstRowAt(now) + n, new Uint8Array(24));
        const [job, at] = n % 2 === 0 ? ["of-many", now] : ["", now - n];
        return { accessor, end: { ...NO_ORIGIN, at, how: "revoked", cause: accessor, job } } as const;
      };
      store.remove(
        Array.from({ length: 4000 }, (_, n) => ending(n)),
        0,
      );
    });
    const all = { from: 0, to: Number.MAX_SAFE_INTEGER };
    for (const filter of [all, { ...all, job: "of-many" }]) {
      let after: OrderPosition | null = null;
      for (let page = 0; page < 3; page++) {
        const query: EndedQuery = { filter, after, shard: 4, limit: 50 };
        const cost = await costOf(shard, async () => {
          const { tokens, upTo } = await shard.endedPage(query);
          expect(tokens).toHaveLength(50);
          after = upTo;
        });
        // Those of the page, the one after it, and the next of each range: each in the index and in the table.
        expect(cost.rowsRead).toBeLessThanOrEqual(2 * 54);
      }
    }
    await deleteRows(shard, "ended");
  });

  it("is shown to those alone whose policies reach it, with sudo", async () => {
    const made = await createToken(root, { no_parent: true, policies: ["default"] });
    await call("POST", "auth/token/revoke", { token: root, body: { token: made.client_token } });
    const without = await tokenUnder(root, 'path "sys/tokens/*" { capabilities = ["read"] }');
    for (const token of [operator.client_token, without]) {
      expect((await call("GET", "sys/tokens/ended", { token })).status).toBe(403);
      expect((await call("GET", `sys/tokens/${made.accessor}`, { token })).status).toBe(403);
    }
  });
});

it("a token that is swept while it is asked about has its end", async () => {
  const [top] = await family();
  await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: top.accessor } });
  const asked = atNth(TokenTree, "unsweptEnd", 1, async (proceed) => {
    await sweepTreeOf(top);
    return proceed();
  });
  expect((await shown(top)).ended).toMatchObject({ how: "revoked" });
  expect(asked.calls).toHaveLength(1);
});
