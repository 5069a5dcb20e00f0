import { createExecutionContext } from "cloudflare:test";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../../src/app/app.ts";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { costOf } from "../../support/costs.ts";
import { runAs } from "../../support/deployments.ts";
import { Meter } from "../../support/meter.ts";
import { methodsOf } from "../../support/operations.ts";
import { madeIn } from "../../support/rows.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { holdInventory, holdSweeps, locate, restartTree, withoutUpdates } from "../../support/trees.ts";

let root: string;
let token: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/maker", {
    token: root,
    body: { policy: 'path "auth/token/*" { capabilities = ["create", "update", "read", "sudo"] }' },
  });
  const made = await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["maker"] } });
  token = made.body.auth.client_token;
});

afterEach(() => vi.useRealTimers());

/** Sends a request as an isolate that has read the installation before, and counts every call to an object. */
async function hopsOf(method: string, path: string, options: { token: string; body?: unknown }): Promise<string[]> {
  const headers = { "X-Vault-Token": options.token };
  const send = async (body: unknown) => {
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    const response = await app.fetch(
      new Request(`http://grove.test/v1/${path}`, init),
      bindings,
      createExecutionContext(),
    );
    return response.text();
  };
  await app.fetch(
    new Request("http://grove.test/v1/auth/token/lookup-self", { headers }),
    bindings,
    createExecutionContext(),
  );
  const meter = new Meter();
  try {
    await withoutUpdates(() => send(options.body));
    // An alarm of a tree of an earlier test can ring meanwhile.
    return meter.methods().filter((call) => !call.endsWith(".alarm"));
  } finally {
    meter.stop();
  }
}

describe("calls to objects", () => {
  // What an isolate knows does not grow old while a request is measured.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));

  it.each([
    ["look-up self", "GET", "auth/token/lookup-self", undefined, methodsOf("lookUp")],
    ["renewal of oneself", "POST", "auth/token/renew-self", {}, methodsOf("renew")],
    ["creation of a child", "POST", "auth/token/create", {}, methodsOf("createChild")],
    ["creation of an orphan", "POST", "auth/token/create-orphan", {}, methodsOf("createOrphan")],
    ["creation of a batch token", "POST", "auth/token/create", { type: "batch" }, methodsOf("createBatch")],
    ["an unknown path", "GET", "auth/token/nothing", undefined, methodsOf("lookUp")],
  ])("%s makes these and no others", async (_, method, path, body, expected) => {
    expect(await hopsOf(method, path, { token, body })).toEqual(expected);
  });

  it("a role is one call more at the first creation or renewal, and none afterwards", async () => {
    await call("POST", "auth/token/roles/plain", { token: root, body: {} });
    const creation = () => hopsOf("POST", "auth/token/create/plain", { token, body: {} });
    expect(await creation()).toEqual(["TokenRoles.read", "TokenTree.run"]);
    expect(await creation()).toEqual(["TokenTree.run"]);
    const made = await call("POST", "auth/token/create/plain", { token });
    const renewal = await hopsOf("POST", "auth/token/renew-self", { token: made.body.auth.client_token, body: {} });
    expect(renewal).toEqual(["TokenTree.act", "TokenTree.run"]);
  });

  it("an entity and its groups are asked for at the first look-up, and not again within POLICY_CACHE_SECONDS", async () => {
    const policy = { policies: ["maker"] };
    await call("POST", "auth/token/roles/person", { token: root, body: { allowed_entity_aliases: "*" } });
    const made = await call("POST", "auth/token/create/person", {
      token: root,
      body: { ...policy, entity_alias: "ada" },
    });
    const { client_token: ofPerson, entity_id: entity } = made.body.auth;
    await call("POST", `identity/entity/id/${entity}`, { token: root, body: { metadata: { a: "b" } } });
    await call("POST", "identity/group", { token: root, body: { ...policy, member_entity_ids: [entity] } });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 200_000 });
    const look = () => hopsOf("GET", "auth/token/lookup-self", { token: ofPerson });
    // The request before the measured one asks for what is not known.
    expect(await look()).toEqual(["TokenTree.run"]);
    const meter = new Meter();
    vi.setSystemTime(Date.now() + 3_000);
    expect(await look()).toEqual(["TokenTree.run"]);
    expect(meter.methods().filter((method) => /^(EntityShard|Identity)\./.test(method))).toEqual([]);
    meter.stop();
  });

  it("an id that root chose is looked up once", async () => {
    await createToken(root, { id: "chosen-once" });
    const lookup = () => hopsOf("GET", "auth/token/lookup-self", { token: "chosen-once" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await lookup();
    expect(await lookup()).toEqual(["TokenTree.run"]);
    vi.setSystemTime(Date.now() + 5_000);
    await call("GET", "auth/token/lookup-self", { token: root });
    // The first request of the measurement looks the id up again.
    expect(await lookup()).toEqual(["TokenTree.run"]);
  });

  it("look-up, renewal and revocation of a token in the caller's own tree ride on its hop", async () => {
    for (const path of ["lookup", "renew", "revoke"]) {
      const child = (await createToken(token)).client_token;
      expect(await hopsOf("POST", `auth/token/${path}`, { token, body: { token: child } })).toEqual(["TokenTree.run"]);
    }
  });

  it("a token in another tree costs one hop more", async () => {
    const other = (await createToken(root)).client_token;
    expect(await hopsOf("POST", "auth/token/lookup", { token, body: { token: other } })).toEqual([
      "TokenTree.act",
      "TokenTree.run",
    ]);
  });

  it("an orphan batch token is judged without any object, one with a parent asks the parent's tree", async () => {
    const role = { type: "batch", ttl: "1h" };
    const orphan = await call("POST", "auth/token/create-orphan", { token, body: role });
    const batch = orphan.body.auth.client_token;
    expect(batch).toMatch(/^b\./);
    expect(await hopsOf("GET", "auth/token/lookup-self", { token: batch })).toEqual([]);
    const below = (await createToken(token, role)).client_token;
    expect(await hopsOf("GET", "auth/token/lookup-self", { token: below })).toEqual(["TokenTree.isAlive"]);
  });

  it("forged and garbage tokens wake nothing", async () => {
    const { treeId } = await locate(token);
    const forged = [
      "s.bad",
      "s.",
      "b.",
      "b.AAAA",
      "x",
      "hvs.CAESIJ",
      "not-a-custom-id",
      "a".repeat(300),
      "é",
      `s.${Buffer.from(treeId, "hex").toString("base64url").padEnd(84, "A")}`,
      `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
      `s.${token}`,
      token.slice(2),
    ];
    for (const bad of forged) {
      expect(await hopsOf("GET", "auth/token/lookup-self", { token: bad }), bad).toEqual([]);
      const seen = await call("GET", "auth/token/lookup-self", { token: bad });
      expect([seen.status, seen.body.errors]).toEqual([403, ["permission denied"]]);
    }
    const body = { token: `s.${"A".repeat(84)}` };
    expect(await hopsOf("POST", "auth/token/lookup", { token, body })).toEqual(["TokenTree.run"]);
  });
});

describe("calls to objects where one process serves everything", () => {
  beforeAll(async () => {
    runAs(ONE_PROCESS);
    // Trees publish their tokens from their next start on.
    await restartTree((await locate(token)).stub);
    // The first look-up finds out that all writes are on disk.
    for (let look = 0; look < 2; look++) await hopsOf("GET", "auth/token/lookup-self", { token });
  });
  afterAll(() => {
    runAs(NETWORK);
  });
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));

  it.each([
    ["look-up self", "GET", "auth/token/lookup-self", undefined, []],
    ["a policy", "GET", "sys/capabilities-self", undefined, []],
    ["an unknown path", "GET", "auth/token/nothing", undefined, []],
    ["creation of a batch token", "POST", "auth/token/create", { type: "batch" }, []],
    ["creation of an orphan", "POST", "auth/token/create-orphan", {}, ["TokenTree.create"]],
    ["creation of a child", "POST", "auth/token/create", {}, ["TokenTree.run"]],
    ["renewal of oneself", "POST", "auth/token/renew-self", {}, ["TokenTree.run"]],
  ])("%s asks only whom it must", async (_, method, path, body, expected) => {
    expect(await hopsOf(method, path, { token, body })).toEqual(expected);
  });

  it("a batch token asks nothing while its parent is known to live", async () => {
    const below = (await createToken(token, { type: "batch", ttl: "1h" })).client_token;
    expect(await hopsOf("GET", "auth/token/lookup-self", { token: below })).toEqual([]);
  });
});

describe("where a new tree is put", () => {
  /** The location hints of the trees that `request` makes. */
  async function hintsOf(path: string, body: object): Promise<(string | undefined)[]> {
    const hints: (string | undefined)[] = [];
    const trees = bindings.TOKEN_TREE;
    const recording = new Proxy(trees, {
      get(_, name: keyof typeof trees) {
        if (name === "get") {
          return (id: DurableObjectId, options?: DurableObjectNamespaceGetDurableObjectOptions) => {
            hints.push(options?.locationHint);
            return trees.get(id, options);
          };
        }
        return trees[name].bind(trees);
      },
    });
    const headers = { "X-Vault-Token": root };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const request = new Request(`http://grove.test/v1/${path}`, init);
    const response = await app.fetch(request, { ...bindings, TOKEN_TREE: recording }, createExecutionContext());
    expect([200, 204]).toContain(response.status);
    await response.text();
    // The first is the tree of the caller.
    return hints.slice(1);
  }
  const write = (path: string, body: unknown) => call("POST", path, { token: root, body });

  it("is near its maker, or where the role of tokens says", async () => {
    expect(await hintsOf("auth/token/create-orphan", {})).toEqual([undefined]);
    await write("auth/token/roles/far", { orphan: true, location_hint: "weur" });
    expect((await call("GET", "auth/token/roles/far", { token: root })).body.data.location_hint).toBe("weur");
    expect(await hintsOf("auth/token/create/far", {})).toEqual(["weur"]);
    expect(await hintsOf("auth/token/create/far", { id: "far-and-chosen" })).toEqual(["weur"]);
    await write("auth/token/roles/far", { orphan: false });
    expect(await hintsOf("auth/token/create/far", {})).toEqual([]);
    await write("auth/token/roles/far", { orphan: true, location_hint: "" });
    expect(await hintsOf("auth/token/create/far", {})).toEqual([undefined]);
  });

  it("is where the mount says, below what a role says", async () => {
    await write("auth/token/roles/farther", { orphan: true, location_hint: "apac-ne" });
    expect((await write("sys/auth/token/tune", { location_hint: "oc" })).status).toBe(204);
    expect((await call("GET", "sys/auth/token/tune", { token: root })).body.data.location_hint).toBe("oc");
    expect(await hintsOf("auth/token/create-orphan", {})).toEqual(["oc"]);
    expect(await hintsOf("auth/token/create/farther", {})).toEqual(["apac-ne"]);
    await write("sys/auth/token/tune", { description: "still there" });
    expect(await hintsOf("auth/token/create-orphan", {})).toEqual(["oc"]);
    await write("sys/auth/token/tune", { location_hint: "" });
    expect(await hintsOf("auth/token/create-orphan", {})).toEqual([undefined]);
  });

  it("is one of the platform's places", async () => {
    for (const path of ["auth/token/roles/nowhere", "sys/auth/token/tune"]) {
      const refused = await write(path, { location_hint: "the moon" });
      expect([refused.status, refused.body.errors[0]]).toEqual([400, expect.stringContaining("wnam, enam")]);
    }
    expect((await call("GET", "auth/token/roles/nowhere", { token: root })).status).toBe(404);
  });
});

describe("rows", () => {
  it.each([
    ["look-up self", "GET", "lookup-self", undefined, { rowsRead: 1, rowsWritten: 0 }],
    // The row, and its place in the index of expiry out and in.
    ["renewal", "POST", "renew-self", { increment: "1h" }, { rowsRead: 2, rowsWritten: 2 }],
    // The row and its entries in the indexes of parents and of expiry.
    ["creation of a child", "POST", "create", { ttl: "700h" }, { rowsRead: 2, rowsWritten: 3 }],
  ])("%s reads and writes these and no others", async (_, method, path, body, expected) => {
    const made = await call("POST", "auth/token/create-orphan", {
      token: root,
      body: { policies: ["maker"], ttl: "1h" },
    });
    const fresh = made.body.auth.client_token;
    const { stub } = await locate(fresh);
    await call("POST", "auth/token/create", { token: fresh, body: { ttl: "1h" } });
    // A token of the same ms could come before this one.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5 });
    const cost = await costOf(stub, () => call(method, `auth/token/${path}`, { token: fresh, body }));
    expect(cost).toEqual(expected);
  });

  it("a tree of one token has no indexes, which come with the second", async () => {
    const made = await call("POST", "auth/token/create-orphan", {
      token: root,
      body: { policies: ["maker"], ttl: "1h" },
    });
    const token = made.body.auth.client_token;
    const { stub } = await locate(token);
    const indexes = async () => (await madeIn(stub)).filter((name) => name.startsWith("tokens_"));
    expect(await indexes()).toEqual([]);
    expect(await costOf(stub, () => call("POST", "auth/token/renew-self", { token }))).toEqual({
      rowsRead: 2,
      rowsWritten: 1,
    });
    await call("POST", "auth/token/create", { token, body: { ttl: "1h" } });
    expect(await indexes()).toEqual(["tokens_by_expiry", "tokens_by_parent", "tokens_dead"]);
  });
});
