import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { REVOKED, REVOKED_ALONE } from "../../../src/token/end-record.ts";
import { DeadTokens } from "../../../src/tree/sweep/dead-tokens.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { callsTo } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { call, createToken, initialized } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import {
  countRows,
  evictTree,
  growTree,
  holdInventory,
  holdSweeps,
  locate,
  sweep,
  tokenRows,
} from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);
afterEach(() => void vi.useRealTimers());
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/maker", {
    token: root,
    body: { policy: 'path "auth/token/create" { capabilities = ["update"] }' },
  });
});

const orphan = async () => {
  const answer = await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["maker"] } });
  return { token: answer.body.auth.client_token, accessor: answer.body.auth.accessor };
};
const child = async (token: string) => (await createToken(token)).client_token;
const status = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

describe("revocation of a tree", () => {
  it("refuses 10,000 descendants from the answer on: one call, a handful of rows", async () => {
    const top = await orphan();
    const wide = await growTree(top.token, 9000, "wide");
    const chain = await growTree(top.token, 1000, "chain");
    const leaves = [...wide, ...chain];
    for (const leaf of leaves) expect(await status(leaf)).toBe(200);

    const { stub } = await locate(top.token);
    const acts = callsTo(TokenTree, "act");
    const cost = await costOf(stub, async () => {
      const answer = await call("POST", "auth/token/revoke", { token: root, body: { token: top.token } });
      expect(answer.status).toBe(204);
    });
    expect(acts.calls).toHaveLength(1);
    // The row itself and its entry in the index of dead rows.
    expect(cost).toEqual({ rowsRead: 2, rowsWritten: 2 });

    for (const leaf of [top.token, ...leaves]) {
      expect(await status(leaf)).toBe(403);
      const seen = await call("POST", "auth/token/lookup", { token: root, body: { token: leaf } });
      expect([seen.status, seen.body.errors]).toEqual([403, ["bad token"]]);
    }
    const made = await call("POST", "auth/token/create", { token: leaves[0] ?? "", body: {} });
    expect(made.status).toBe(403);
    await sweep(stub);
    expect(await countRows(stub)).toBe(0);
  });

  it("costs distant descendants nothing before it, and a row for each ancestor while dead rows wait", async () => {
    const DEPTH = 500;
    const top = await orphan();
    const [first, , lowest] = await growTree(top.token, DEPTH, "chain");
    const [other] = await growTree(top.token, 1, "wide");
    // The rows are up to half a second ahead, and one that comes before others costs more.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * DEPTH });
    const { stub } = await locate(top.token);
    const lookUp = (token = "") => costOf(stub, async () => expect(await status(token)).toBe(200));
    const create = (token = "") => {
      vi.setSystemTime(Date.now() + 1);
      return costOf(stub, () => child(token));
    };
    for (const operation of [lookUp, create]) expect(await operation(lowest)).toEqual(await operation(first));
    await call("POST", "auth/token/revoke", { token: root, body: { token: other } });
    const { rowsRead } = await lookUp(lowest);
    expect(rowsRead).toBeGreaterThan(DEPTH);
    expect(rowsRead).toBeLessThan(4 * DEPTH);
    await sweep(stub);
    expect(await lookUp(lowest)).toEqual(await lookUp(first));
  });

  it("costs a leaf no more than the top of a tree", async () => {
    const top = await orphan();
    const [leaf] = await growTree(top.token, 1, "wide");
    const { stub } = await locate(top.token);
    const cost = await costOf(stub, () => call("POST", "auth/token/revoke", { token: root, body: { token: leaf } }));
    expect(cost).toEqual({ rowsRead: 2, rowsWritten: 2 });
    expect(await status(top.token)).toBe(200);
  });

  it("takes children and grandchildren along, with their accessors", async () => {
    const top = await orphan();
    const middle = await createToken(top.token);
    const low = await createToken(middle.client_token);
    expect((await call("POST", "auth/token/revoke-self", { token: top.token })).status).toBe(204);
    for (const { client_token, accessor } of [middle, low]) {
      expect(await status(client_token)).toBe(403);
      const seen = await call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } });
      expect([seen.status, seen.body.errors]).toEqual([400, ["invalid accessor"]]);
    }
    const { stub } = await locate(low.client_token);
    await sweep(stub);
    const listed = await call("GET", "auth/token/accessors?list=true", { token: root });
    for (const accessor of [top.accessor, middle.accessor, low.accessor]) {
      expect(listed.body.data.keys).not.toContain(accessor);
    }
  });

  it("leaves siblings alone", async () => {
    const top = await orphan();
    const [left, right] = [await child(top.token), await child(top.token)];
    const below = await child(left);
    await call("POST", "auth/token/revoke", { token: root, body: { token: left } });
    expect(await status(below)).toBe(403);
    expect(await status(right)).toBe(200);
    const { stub } = await locate(top.token);
    await sweep(stub);
    expect(await countRows(stub)).toBe(2);
    expect(await status(right)).toBe(200);
  });

  it("trees of depth 1, 2 and 10 end empty", async () => {
    for (const depth of [1, 2, 10]) {
      const top = await orphan();
      let lowest: string = top.token;
      for (let i = 0; i < depth; i++) lowest = await child(lowest);
      await call("POST", "auth/token/revoke", { token: root, body: { token: top.token } });
      expect(await status(lowest)).toBe(403);
      const { stub } = await locate(top.token);
      await sweep(stub);
      expect(await countRows(stub)).toBe(0);
    }
  });

  it("an object that wakes up in the middle of a sweep still refuses the descendants", async () => {
    const top = await orphan();
    const [, , lowest] = await growTree(top.token, 50, "chain");
    await call("POST", "auth/token/revoke", { token: root, body: { token: top.token } });
    await evictTree((await locate(top.token)).stub);
    expect(await status(lowest ?? "")).toBe(403);
  });
});

describe("revoke-orphan", () => {
  it("ends the token alone; its children are orphans and live on", async () => {
    const top = await orphan();
    const middle = await child(top.token);
    const low = await child(middle);
    const lowest = await child(low);
    const answer = await call("POST", "auth/token/revoke-orphan", { token: root, body: { token: middle } });
    expect(answer.status).toBe(204);
    expect(await status(middle)).toBe(403);
    const seen = await call("GET", "auth/token/lookup-self", { token: low });
    expect([seen.status, seen.body.data.orphan]).toEqual([200, true]);
    const { stub } = await locate(top.token);
    await sweep(stub);
    const after = await call("GET", "auth/token/lookup-self", { token: low });
    expect([after.status, after.body.data.orphan]).toEqual([200, true]);
    expect((await call("GET", "auth/token/lookup-self", { token: lowest })).body.data.orphan).toBe(false);

    // The former grandparent is not an ancestor any more; the new root of the subtree is.
    await call("POST", "auth/token/revoke", { token: root, body: { token: top.token } });
    expect(await status(low)).toBe(200);
    await call("POST", "auth/token/revoke", { token: root, body: { token: low } });
    expect(await status(lowest)).toBe(403);
  });

  it("keeps the children also when all ancestors end before the sweep", async () => {
    const top = await orphan();
    const middle = await child(top.token);
    const low = await child(middle);
    await call("POST", "auth/token/revoke-orphan", { token: root, body: { token: middle } });
    await call("POST", "auth/token/revoke", { token: root, body: { token: top.token } });
    expect(await status(low)).toBe(200);
    const { stub } = await locate(top.token);
    await sweep(stub);
    expect(await status(low)).toBe(200);
    expect(await countRows(stub)).toBe(1);
  });

  it("cuts its children loose in bounded steps: requests to the tree wait for one of them at most", async () => {
    const top = await orphan();
    await growTree(top.token, 1000, "wide");
    const { stub } = await locate(top.token);
    await changeRows(stub, "tokens", { state: REVOKED_ALONE }, { parent: null });
    const victims = await runInDurableObject(stub, (_, { storage: { sql } }) =>
      new DeadTokens(sql, "00".repeat(32)).next(Date.now(), 50),
    );
    const children = (await tokenRows(stub)).filter(({ parent }) => parent !== null);
    expect([victims, children.length]).toEqual([[], 950]);
  });

  it("marks an expired one that has more below it than a step takes, which stays dead if the clock is set back", async () => {
    const top = await orphan();
    await growTree(top.token, 200, "wide");
    const { stub } = await locate(top.token);
    await changeRows(stub, "tokens", { expires_at: 1 }, { parent: null });
    await runInDurableObject(stub, (_, { storage: { sql } }) =>
      new DeadTokens(sql, "00".repeat(32)).next(Date.now(), 50),
    );
    const [expired] = (await tokenRows(stub)).filter(({ parent }) => parent === null);
    expect(expired).toMatchObject({ state: REVOKED });
  });

  it("deletes what is dead in the order of rows, wherever in the tree it hangs", async () => {
    const top = await orphan();
    const branch = await child(top.token);
    const parents = [await child(branch), await child(branch), await child(branch)];
    for (let turn = 0; turn < 4; turn++) for (const parent of parents) await growTree(parent, 50, "wide");
    const { stub } = await locate(top.token);
    await call("POST", "auth/token/revoke", { token: root, body: { token: branch } });
    const below = async () => (await tokenRows(stub)).filter(({ parent }) => parent !== null).map(({ row }) => row);
    const found = await runInDurableObject(stub, (_, { storage: { sql } }) => {
      const dead = new DeadTokens(sql, "00".repeat(32));
      const first = dead.next(Date.now(), 100) ?? [];
      while (dead.isPlanning) dead.planOn(100);
      const next = [...(dead.next(Date.now(), 100) ?? []), ...dead.more(Date.now(), 1000)];
      return { first: first.length, next: next.map(({ row }) => row) };
    });
    expect(found.first).toBe(97);
    expect(found.next).toEqual(await below());
    // The branch itself too.
    expect(found.next).toHaveLength(601);
    await sweep(stub);
    expect(await countRows(stub)).toBe(1);
  });

  it("costs the same with many children", async () => {
    const top = await orphan();
    await growTree(top.token, 2000, "wide");
    const { stub } = await locate(top.token);
    const cost = await costOf(stub, () =>
      call("POST", "auth/token/revoke-orphan", { token: root, body: { token: top.token } }),
    );
    expect(cost).toEqual({ rowsRead: 2, rowsWritten: 2 });
    await sweep(stub);
    expect(await countRows(stub)).toBe(2000);
  });

  it("needs sudo; the token survives a refusal", async () => {
    await call("POST", "sys/policies/acl/no-sudo", {
      token: root,
      body: { policy: 'path "auth/token/revoke-orphan*" { capabilities = ["update"] }' },
    });
    const { client_token: caller } = await createToken(root, { policies: ["no-sudo"] });
    const victim = await child(root);
    for (const [path, body] of [
      ["auth/token/revoke-orphan", { token: victim }],
      [`auth/token/revoke-orphan/${victim}`, {}],
    ] as const) {
      const answer = await call("POST", path, { token: caller, body });
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        ["root or sudo privileges required to revoke and orphan"],
      ]);
    }
    expect(await status(victim)).toBe(200);
    expect((await call("POST", `auth/token/revoke-orphan/${victim}`, { token: root })).status).toBe(204);
    expect(await status(victim)).toBe(403);
    const again = await call("POST", "auth/token/revoke-orphan", { token: root, body: { token: victim } });
    expect([again.status, again.body.errors]).toEqual([400, ["token to revoke not found"]]);
  });
});
