import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { System } from "../../../src/system/system.ts";
import { CustomIds } from "../../../src/tree/custom-ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls, atNth, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { advance, leaseFor, leaseRows, register } from "../../support/leases.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { deleteRows } from "../../support/storage-writer.ts";
import { countRows, locate } from "../../support/trees.ts";

const LOST = "Network connection lost.";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  runAs(CLUSTER);
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

async function newToken(fields: object = {}): Promise<string> {
  const body = { policies: ["default"], ttl: "1h", ...fields };
  const answer = await call("POST", "auth/token/create-orphan", { token: root, body });
  return answer.body.auth.client_token;
}

const asHolder = (token: string, method: string, path: string, body?: unknown) =>
  call(method, path, { token, ...(body !== undefined && { body }) });

const lookUp = (token: string) => asHolder(token, "GET", "auth/token/lookup-self");

/**
 * The next `times` calls to trees are lost, after they were carried out or before; then `meanwhile` happens. Returns how
 * many calls there were.
 */
function lose(
  when: "before" | "after",
  times = 1,
  method: "run" | "act" = "run",
  meanwhile: (treeId: string) => unknown = () => {},
): { readonly count: number; end(): void } {
  const { calls, end } = atCalls(TokenTree, method, async ({ id, proceed }) => {
    if (calls.length > times) return proceed();
    if (when === "after") await proceed();
    await meanwhile(id);
    throw new Error(LOST);
  });
  return {
    get count() {
      return calls.length;
    },
    end,
  };
}

/** Stands in for a method whose next call is lost, after it was carried out or before. */
function losing(when: "before" | "after", meanwhile: () => unknown = () => {}) {
  return async <T>(proceed: () => T | Promise<T>): Promise<T> => {
    if (when === "after") await proceed();
    await meanwhile();
    throw new Error(LOST);
  };
}

const treeOf = (id: string) => bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.idFromString(id));

async function wrap(): Promise<string> {
  const headers = { "X-Vault-Wrap-TTL": "60" };
  const wrapped = await call("POST", "sys/wrapping/wrap", { token: root, body: { a: "b" }, headers });
  return wrapped.body.wrap_info.token;
}

/** A test that looks into an object takes the stub of the platform. */
async function inNetwork<T>(work: () => Promise<T>): Promise<T> {
  runAs(NETWORK);
  const result = await work();
  runAs(CLUSTER);
  return result;
}

describe("a call that a cluster loses", () => {
  it.each(["before", "after"] as const)("is repeated for a look-up: lost %s it was carried out", async (when) => {
    const token = await newToken();
    const calls = lose(when, 3);
    expect((await lookUp(token)).status).toBe(200);
    expect(calls.count).toBe(4);
  });

  it("is a 503 that says when to come again, when its object does not come back soon", async () => {
    const token = await newToken();
    const calls = lose("before", 1000);
    const answer = await lookUp(token);
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(calls.count).toBe(7);
  });

  it("is repeated for what may be carried out twice", async () => {
    for (const when of ["before", "after"] as const) {
      const token = await newToken();
      lose(when);
      expect((await asHolder(token, "POST", "auth/token/renew-self")).status).toBe(200);
      lose(when);
      expect((await asHolder(token, "PUT", "cubbyhole/a", { b: "c" })).status).toBe(204);
    }
  });

  it.each(["before", "after"] as const)("counts one use: lost %s it was carried out", async (when) => {
    const token = await newToken({ num_uses: 3 });
    const calls = lose(when, 3);
    expect((await lookUp(token)).body.data.num_uses).toBe(2);
    expect(calls.count).toBe(4);
    expect((await lookUp(token)).body.data.num_uses).toBe(1);
  });

  it.each(["before", "after"] as const)("counts the last use: lost %s it was carried out", async (when) => {
    const token = await newToken({ num_uses: 1 });
    lose(when);
    expect((await lookUp(token)).status).toBe(200);
    expect((await lookUp(token)).status).toBe(403);
  });

  it("of another request counts a use of its own", async () => {
    const token = await newToken({ num_uses: 2 });
    expect((await lookUp(token)).status).toBe(200);
    lose("before");
    expect((await lookUp(token)).status).toBe(200);
    expect((await lookUp(token)).status).toBe(403);
  });

  it("is a 503 when the token that it has spent is swept before the repetition", async () => {
    const token = await newToken({ num_uses: 1 });
    lose("after", 1, "run", (id) => treeOf(id).sweep());
    expect((await lookUp(token)).status).toBe(503);
    expect((await lookUp(token)).status).toBe(403);
  });

  it.each([
    [1, "its parent"],
    [2, "its parent"],
    [2, "the token"],
  ] as const)("is refused when, of %i uses, one is counted and then %s is revoked", async (uses, whose) => {
    const parent = await newToken({ policies: ["root"] });
    const made = await asHolder(parent, "POST", "auth/token/create", { ttl: "1h", num_uses: uses });
    const { client_token: token, accessor } = made.body.auth;
    const revoke = async () => {
      lost.end();
      if (whose === "the token") await asHolder(root, "POST", "auth/token/revoke-accessor", { accessor });
      else await asHolder(parent, "POST", "auth/token/revoke-self");
    };
    const lost = lose("after", 1, "run", revoke);
    expect((await lookUp(token)).status).toBe(403);
  });

  it("is a 503 for a use that a Worker of 1.0.0-rc.1 repeats, which sends no id of the call", async () => {
    const token = await newToken({ num_uses: 3 });
    atCalls(TokenTree, "run", ({ args: [{ callId: _, ...rest }], proceed }) => proceed({ ...rest, again: true }));
    expect((await lookUp(token)).status).toBe(503);
  });

  it("keeps the ids of calls for a minute", async () => {
    const token = await newToken({ num_uses: 9 });
    const { stub } = await inNetwork(() => locate(token));
    const kept = () =>
      runInDurableObject(stub, (_, { storage }) => storage.sql.exec("SELECT * FROM carried_out").toArray().length);
    await lookUp(token);
    await lookUp(token);
    expect(await kept()).toBe(2);
    advance(61);
    await lookUp(token);
    expect(await kept()).toBe(1);
  });

  it.each(["before", "after"] as const)("ends a token once: lost %s it was carried out", async (when) => {
    const token = await newToken();
    lose(when);
    expect((await asHolder(token, "POST", "auth/token/revoke-self")).status).toBe(204);
    expect((await lookUp(token)).status).toBe(403);
  });

  it("does not say that a token was refused which it has ended, and which is swept", async () => {
    const token = await newToken();
    lose("after", 1, "run", (id) => treeOf(id).sweep());
    expect((await asHolder(token, "POST", "auth/token/revoke-self")).status).toBe(503);
  });

  it.each(["before", "after"] as const)("makes one child: lost %s it was made", async (when) => {
    const parent = await newToken({ policies: ["root"] });
    lose(when);
    const { status, body } = await asHolder(parent, "POST", "auth/token/create", { ttl: "1h" });
    expect(status).toBe(200);
    expect((await lookUp(body.auth.client_token)).status).toBe(200);
    const { stub } = await inNetwork(() => locate(parent));
    expect(await countRows(stub)).toBe(2);
  });

  it.each(["before", "after"] as const)("makes one child with a chosen id: lost %s it was made", async (when) => {
    const parent = await newToken({ policies: ["root"] });
    atNth(TokenTree, "insert", 1, losing(when));
    const made = await asHolder(parent, "POST", "auth/token/create", { ttl: "1h", id: `chosen-${when}` });
    expect(made.status).toBe(200);
    expect((await lookUp(`chosen-${when}`)).status).toBe(200);
    const { stub } = await inNetwork(() => locate(parent));
    expect(await countRows(stub)).toBe(2);
  });

  it.each(["before", "after"] as const)("reserves a chosen id once: lost %s it was reserved", async (when) => {
    const lost = [atNth(CustomIds, "reserve", 1, losing(when)), atNth(System, "admitCustomId", 1, losing(when))];
    const make = (id: string) => ({ ttl: "1h", policies: ["default"], id });
    const made = await asHolder(root, "POST", "auth/token/create-orphan", make(`orphan-${when}`));
    expect([made.status, made.body.auth?.client_token]).toEqual([200, `orphan-${when}`]);
    expect((await lookUp(`orphan-${when}`)).status).toBe(200);
    for (const { calls } of lost) expect(calls).toHaveLength(2);
    expect((await asHolder(root, "POST", "auth/token/create-orphan", make(`orphan-${when}`))).status).toBe(400);
  });

  it.each(["before", "after"] as const)("registers a lease once: lost %s it was stored", async (when) => {
    const holder = await newToken();
    const lost = [atNth(TokenTree, "lease", 1, losing(when)), atNth(AccessorShard, "addLease", 1, losing(when))];
    const id = await leaseFor(root, holder);
    for (const { calls } of lost) expect(calls.length).toBeGreaterThan(1);
    expect(await inNetwork(() => leaseRows(holder))).toHaveLength(1);
    const ask = (path: string) => asHolder(root, "POST", path, { lease_id: id, sync: false });
    for (const path of ["sys/leases/lookup", "sys/leases/renew", "sys/leases/revoke"]) {
      const { calls } = atNth(TokenTree, "lease", 1, losing(when));
      expect((await ask(path)).status).toBeLessThan(300);
      expect(calls).toHaveLength(2);
    }
    expect((await ask("sys/leases/lookup")).status).toBe(400);
  });

  it("writes a lease to the index once for attempts that run at the same time", async () => {
    const holder = await newToken();
    const repeated = Promise.withResolvers<void>();
    const index = atCalls(AccessorShard, "addLease", async ({ proceed }) => {
      await repeated.promise;
      return proceed();
    });
    const { calls } = atCalls(TokenTree, "lease", async ({ proceed }) => {
      const answer = proceed();
      if (calls.length === 1) throw new Error(LOST);
      repeated.resolve();
      return answer;
    });
    expect((await register(root, holder)).status).toBe(200);
    expect(await inNetwork(() => leaseRows(holder))).toHaveLength(1);
    expect(index.calls).toHaveLength(1);
  });

  it("registers no lease again that has ended before the repetition", async () => {
    const holder = await newToken();
    const ended = async () => deleteRows((await inNetwork(() => locate(holder))).stub, "leases");
    atNth(TokenTree, "lease", 1, losing("after", ended));
    expect((await register(root, holder)).status).toBe(503);
    expect(await inNetwork(() => leaseRows(holder))).toEqual([]);
  });

  it("gives a secret no second lease when an object of 1.0.0-rc.1 has stored the first", async () => {
    const holder = await newToken();
    const { calls } = atCalls(TokenTree, "lease", async ({ args: [action], proceed }) => {
      const answer = await proceed(action);
      if (calls.length > 1) return answer;
      throw new Error(LOST);
    });
    expect((await register(root, holder)).status).toBe(503);
    expect(await inNetwork(() => leaseRows(holder))).toHaveLength(1);
  });

  it("does not give another child for its own that got its row number meanwhile", async () => {
    const parent = await newToken({ policies: ["root"] });
    const { calls } = atCalls(TokenTree, "run", async ({ args: [request], proceed }) => {
      if (calls.length > 1) return proceed();
      const { action } = request;
      if (action?.kind !== "create" || !action.ids) throw new Error("a child is made with its ids");
      const ids = { ...action.ids, verifier: new Uint8Array(24), accessorTail: new Uint8Array(24) };
      await proceed({ ...request, callId: "of another request", action: { ...action, ids } });
      throw new Error(LOST);
    });
    const { status, body } = await asHolder(parent, "POST", "auth/token/create", { ttl: "1h" });
    expect(status).toBe(200);
    expect((await lookUp(body.auth.client_token)).status).toBe(200);
  });

  it.each(["before", "after"] as const)("gives the answer of a wrapping token once: lost %s", async (when) => {
    const own = await wrap();
    lose(when);
    expect((await asHolder(own, "POST", "sys/wrapping/unwrap")).body.data).toEqual({ a: "b" });
    expect((await asHolder(own, "POST", "sys/wrapping/unwrap")).status).toBe(400);
    const named = await wrap();
    lose(when, 1, "act");
    const unwrap = () => asHolder(root, "POST", "sys/wrapping/unwrap", { token: named });
    expect((await unwrap()).body.data).toEqual({ a: "b" });
    expect((await unwrap()).status).toBe(400);
  });

  it("does not give the answer that another request has taken", async () => {
    const token = await wrap();
    const unwrap = () => asHolder(root, "POST", "sys/wrapping/unwrap", { token });
    // Of the two calls of the first request, before the lost one and its repetition, another one takes the answer.
    atNth(TokenTree, "act", 1, async () => {
      expect((await unwrap()).status).toBe(200);
      throw new Error(LOST);
    });
    expect((await unwrap()).status).toBe(503);
  });

  it.each(["before", "after"] as const)("to the tree of another token is repeated: lost %s", async (when) => {
    const token = await newToken();
    const calls = lose(when, 1, "act");
    expect((await asHolder(root, "POST", "auth/token/revoke", { token })).status).toBe(204);
    expect(calls.count).toBe(2);
    expect((await lookUp(token)).status).toBe(403);
  });

  it("does not say that a token is unknown which it has ended, and which is swept", async () => {
    const token = await newToken();
    lose("after", 1, "act", (id) => treeOf(id).sweep());
    expect((await asHolder(root, "POST", "auth/token/revoke", { token })).status).toBe(503);
  });

  it("is repeated for a look into a wrapping token", async () => {
    const token = await wrap();
    const calls = lose("after", 1, "act");
    expect((await asHolder(root, "POST", "sys/wrapping/lookup", { token })).status).toBe(200);
    expect(calls.count).toBe(2);
  });

  it.each(["before", "after"] as const)("makes one orphan: lost %s it was made", async (when) => {
    const created = atNth(TokenTree, "create", 1, losing(when));
    const { accessor } = (await lookUp(await newToken())).body.data;
    const made = created.calls.map(({ args: [, ids] }) => ids.accessor);
    // A tree that knows of no token is not started again: the token that it had may have been revoked.
    expect(made.map((one) => one === accessor)).toEqual(when === "after" ? [true, true] : [false, false, true]);
  });

  it("does not bring back an orphan that was revoked before the repetition", async () => {
    const ends: string[] = [];
    const lost = atCalls(TokenTree, "create", async ({ id, args: [, { accessor }], proceed }) => {
      const made = await proceed();
      if (ends.length > 0) return made;
      ends.push(accessor);
      await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } });
      await treeOf(id).sweep();
      throw new Error(LOST);
    });
    expect((await lookUp(await newToken())).body.data.accessor).not.toBe(ends[0]);
    lost.end();
    const ended = { token: root, body: { accessor: ends[0] } };
    expect((await call("POST", "auth/token/lookup-accessor", ended)).status).toBe(400);
  });

  it("does not replace a value that was written to a cubbyhole before the repetition", async () => {
    const token = await newToken();
    const write = (b: string) => asHolder(token, "PUT", "cubbyhole/a", { b });
    const lost = lose("after", 1, "run", async () => {
      lost.end();
      expect((await write("newer")).status).toBe(204);
    });
    expect((await write("older")).status).toBe(204);
    expect((await asHolder(token, "GET", "cubbyhole/a")).body.data).toEqual({ b: "newer" });
  });

  it("counts one use when the first attempt arrives after the repetition", async () => {
    const token = await newToken({ num_uses: 3 });
    const { calls, end } = atCalls(TokenTree, "run", ({ proceed }) => {
      if (calls.length > 1) return proceed();
      throw new Error(LOST);
    });
    expect((await lookUp(token)).body.data.num_uses).toBe(2);
    end();
    for (const { id, args } of calls.slice(0, 1)) await treeOf(id).run(...args);
    expect((await lookUp(token)).body.data.num_uses).toBe(1);
  });

  it("is not repeated on Cloudflare's network, which has repeated it already", async () => {
    runAs(NETWORK);
    const token = await newToken();
    const calls = lose("before");
    expect((await lookUp(token)).status).toBe(503);
    expect(calls.count).toBe(1);
  });
});
