import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ok } from "../../../src/base/result.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { growBound } from "../../support/bound.ts";
import { atCalls, atNth } from "../../support/calls.ts";
import { call, createToken, initialized } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

let root: string;
let sudo: string;
let plain: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
  const write = (name: string, policy: string) =>
    call("POST", `sys/policies/acl/${name}`, { token: root, body: { policy } });
  await write("plain", 'path "auth/token/*" { capabilities = ["create", "update"] }');
  await write("sudo", 'path "auth/token/*" { capabilities = ["create", "update", "read", "sudo"] }');
  sudo = (await createToken(root, { policies: ["sudo"], ttl: "10h" })).client_token;
  plain = (await createToken(root, { policies: ["plain"], ttl: "10h" })).client_token;
});

const create = (token: string, body: unknown, path = "create") => call("POST", `auth/token/${path}`, { token, body });
const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).body.data;

describe("who may ask for what", () => {
  it.each<[string, () => string, Record<string, unknown>, string]>([
    ["policies outside of its own", () => plain, { policies: ["other"] }, "child policies must be subset of parent"],
    [
      "root, with sudo",
      () => sudo,
      { policies: ["root"] },
      "root tokens may not be created without parent token being root",
    ],
    [
      "policy name case: RooT, with sudo",
      () => sudo,
      { policies: [" RooT "] },
      "root tokens may not be created without parent token being root",
    ],
    [
      "policy name case: RooT, without sudo",
      () => plain,
      { policies: ["RooT"] },
      "child policies must be subset of parent",
    ],
    ["an id, even with sudo", () => sudo, { id: "mine" }, "root or sudo privileges required to specify token id"],
    [
      "an id for a batch token",
      () => plain,
      { id: "mine", type: "batch" },
      "root or sudo privileges required to specify token id",
    ],
    ["an orphan", () => plain, { no_parent: true }, "root or sudo privileges required to create orphan token"],
    ["a period", () => plain, { period: "1h" }, "root or sudo privileges required to create periodic token"],
    [
      "the policy of wrapping",
      () => sudo,
      { policies: ["response-wrapping"] },
      'cannot assign policy "response-wrapping"',
    ],
    [
      "an alias without a role",
      () => sudo,
      { entity_alias: "x" },
      "'entity_alias' is only allowed in combination with token role",
    ],
    ["a root batch token", () => root, { type: "batch", ttl: "5m" }, "batch tokens cannot be root tokens"],
    ["a batch token with uses", () => plain, { type: "batch", num_uses: 1 }, 'batch tokens cannot have "num_uses" set'],
    ["a batch token with a period", () => sudo, { type: "batch", period: 5 }, 'batch tokens cannot have "period" set'],
    [
      "a batch token with an explicit maximum",
      () => sudo,
      { type: "batch", explicit_max_ttl: 5 },
      'batch tokens cannot have "explicit_max_ttl" set',
    ],
    [
      "a policy name that holds a line break",
      () => sudo,
      { policies: ["app\nsudo"] },
      "policy name must not contain control characters",
    ],
  ])("%s is refused", async (_, token, body, message) => {
    const answer = await create(token(), body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("a period of 0 needs no rights", async () => {
    expect((await create(plain, { period: "0s" })).status).toBe(200);
  });

  it("the default policy is added for sudo callers, and for others that have it", async () => {
    const policies = async (token: string, body: object) => (await create(token, body)).body.auth.policies;
    expect(await policies(root, { policies: ["p1"] })).toEqual(["default", "p1"]);
    expect(await policies(root, { policies: ["p1"], no_default_policy: true })).toEqual(["p1"]);
    expect(await policies(plain, {})).toEqual(["default", "plain"]);
    expect(await policies(plain, { no_default_policy: true })).toEqual(["plain"]);
    const bare = (await createToken(root, { policies: ["plain"], no_default_policy: true })).client_token;
    expect(await policies(bare, {})).toEqual(["plain"]);
    expect(await policies(bare, { policies: ["plain"] })).toEqual(["plain"]);
    expect((await create(bare, { policies: ["default"] })).status).toBe(400);
  });

  it("names of only blanks are no policies, and do not inherit any", async () => {
    expect((await create(plain, { policies: [" ", ""] })).body.auth.policies).toEqual(["default"]);
  });

  it("an expiring root token makes no root token that does not expire", async () => {
    const expiring = await create(root, { policies: ["root"], ttl: "5m" });
    expect(expiring.body.auth.lease_duration).toBe(300);
    const answer = await create(expiring.body.auth.client_token, { ttl: "0" });
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      ["expiring root tokens cannot create non-expiring root tokens"],
    ]);
  });
});

describe("what a new token is", () => {
  it("root without anything asked makes root", async () => {
    const data = await self((await create(root, {})).body.auth.client_token);
    expect(data).toMatchObject({
      policies: ["root"],
      ttl: 0,
      path: "auth/token/create",
      display_name: "token",
      type: "service",
    });
  });

  it("three ways to an orphan", async () => {
    for (const [body, path] of [
      [{}, "create-orphan"],
      [{ no_parent: true }, "create"],
      [{ no_parent: true }, "create-orphan"],
    ] as const) {
      const { auth } = (await create(root, body, path)).body;
      expect(auth.orphan).toBe(true);
      expect((await locate(auth.client_token)).treeId).not.toBe((await locate(root)).treeId);
    }
    expect((await create(plain, {}, "create-orphan")).body.auth.orphan).toBe(true);
  });

  it("keeps metadata, and takes lease as another name of ttl", async () => {
    for (const type of ["service", "batch"]) {
      const { auth } = (await create(plain, { type, lease: "1h", meta: { a: "b", n: 5 } })).body;
      expect(auth).toMatchObject({ metadata: { a: "b", n: "5" }, lease_duration: 3600, renewable: type === "service" });
      expect((await self(auth.client_token)).meta).toEqual({ a: "b", n: "5" });
    }
    expect((await create(plain, { meta: ["a=b", "c=d=e"] })).body.auth.metadata).toEqual({ a: "b", c: "d=e" });
  });

  it("reads lifetimes as they were always read", async () => {
    const made = async (body: object, by = plain) => (await create(by, body)).body.auth;
    expect(await made({ ttl: true })).toMatchObject({ lease_duration: 1 });
    expect(await made({ ttl: "1h", lease: "when it is over" })).toMatchObject({ lease_duration: 3600 });
    expect((await create(plain, { lease: "when it is over" })).status).toBe(400);
    expect((await create(plain, { ttl: " 1h" })).status).toBe(400);
    expect(await made({ renewable: null, ttl: null })).toMatchObject({ lease_duration: 2_764_800, renewable: true });
    const capped = await create(root, { explicit_max_ttl: "1000h" });
    expect([capped.body.auth.lease_duration, capped.body.warnings]).toEqual([3_600_000, null]);
  });

  it("keeps names that mean something to the language as ordinary names", async () => {
    const raw = '{"meta":{"__proto__":"x","constructor":"y"},"policies":["default"]}';
    const { auth } = (await call("POST", "auth/token/create", { token: root, raw })).body;
    expect(JSON.stringify(auth.metadata)).toBe('{"__proto__":"x","constructor":"y"}');
  });

  it("ttl, explicit maximum and renewable", async () => {
    const duration = async (body: object) => (await create(plain, body)).body.auth;
    expect(await duration({ ttl: "1h", explicit_max_ttl: "1800s" })).toMatchObject({
      lease_duration: 1800,
      renewable: true,
    });
    expect(await duration({ ttl: "1h", explicit_max_ttl: "2h" })).toMatchObject({ lease_duration: 3600 });
    expect(await duration({ ttl: "1h", renewable: false })).toMatchObject({ renewable: false });
    expect(await duration({})).toMatchObject({ lease_duration: 768 * 3600 });
  });
});

describe("an id that root chooses", () => {
  it("is kept, with the warning; a batch token ignores it", async () => {
    const answer = await create(root, { id: "chosen-1", policies: ["default"], ttl: "1h" });
    expect(answer.body.auth.client_token).toBe("chosen-1");
    expect(answer.body.warnings[0]).toContain("weaker SHA1 hashing");
    expect((await self("chosen-1")).id).toBe("chosen-1");
    const batch = await create(root, { id: "chosen-2", type: "batch", policies: ["default"], ttl: "1h" });
    expect(batch.body.auth.client_token).toMatch(/^b\./);
  });

  it.each([
    ["hvs.foobar", "custom token ID cannot have the 'hvs.' prefix"],
    ["s.foobar", "custom token ID cannot have the 's.' prefix"],
    ["foobar.baz", "custom token ID cannot have a '.' in the value"],
  ])("%s is refused", async (id, message) => {
    const answer = await create(root, { id, policies: ["default"] });
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("exists once, also when many create it at the same time; free again after its end", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => create(root, { id: "race", policies: ["default"], ttl: "1h" })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers.filter(({ status }) => status !== 200)) {
      expect([status, body.errors]).toEqual([400, ["cannot create a token with a duplicate ID"]]);
    }
    await call("POST", "auth/token/revoke", { token: root, body: { token: "race" } });
    expect((await call("GET", "auth/token/lookup-self", { token: "race" })).status).toBe(403);
    expect((await create(root, { id: "race", policies: ["default"], ttl: "1h" })).status).toBe(200);
    expect((await self("race")).id).toBe("race");
  });

  it("generates another row when the first one is taken, and gives up with a failure that can be retried", async () => {
    const taken = async () => ok({ kind: "row_taken", above: 0 } as const);
    const once = atNth(TokenTree, "insert", 1, taken);
    expect((await create(root, { id: "second-draw", policies: ["default"] })).status).toBe(200);
    expect((await self("second-draw")).id).toBe("second-draw");
    once.end();
    const always = atCalls(TokenTree, "insert", taken);
    const given = await create(root, { id: "no-row", policies: ["default"] });
    expect([given.status, given.headers.get("Retry-After")]).toEqual([503, "1"]);
    always.end();
    expect((await create(root, { id: "no-row", policies: ["default"] })).status).toBe(200);
  });

  it("is free again at once when its token could not be stored", async () => {
    const failed = atCalls(TokenTree, "create", async () => ok("taken" as const));
    expect((await create(root, { id: "unstored", policies: ["default"] }, "create-orphan")).status).toBe(503);
    failed.end();
    expect((await create(root, { id: "unstored", policies: ["default"] }, "create-orphan")).status).toBe(200);
    expect((await self("unstored")).id).toBe("unstored");
  });

  it("works for an orphan, and cascades as any other", async () => {
    await create(root, { id: "lonely", policies: ["plain"], ttl: "1h" }, "create-orphan");
    const child = (await create("lonely", {})).body.auth.client_token;
    expect((await self("lonely")).orphan).toBe(true);
    await call("POST", "auth/token/revoke-self", { token: "lonely" });
    expect((await call("GET", "auth/token/lookup-self", { token: child })).status).toBe(403);
  });
});

describe("batch tokens", () => {
  it("can't create, be revoked or renewed, or keep anything", async () => {
    const batch = (await createToken(root, { type: "batch", policies: ["sudo"], ttl: "1h" })).client_token;
    for (const [path, body, message] of [
      ["auth/token/create", {}, "batch tokens cannot create more tokens"],
      ["auth/token/revoke-self", {}, "batch tokens cannot be revoked"],
      ["auth/token/renew-self", {}, "batch tokens cannot be renewed"],
      ["auth/token/revoke", { token: batch }, "batch tokens cannot be revoked"],
      ["auth/token/revoke-orphan", { token: batch }, "batch tokens cannot be revoked"],
      ["auth/token/renew", { token: batch }, "batch tokens cannot be renewed"],
      ["cubbyhole/x", { a: 1 }, "cubbyhole operations are only supported by 'service' type tokens"],
    ] as const) {
      const answer = await call("POST", path, { token: batch, body });
      expect([path, answer.status, answer.body.errors]).toEqual([path, 400, [message]]);
    }
  });

  it("lives only while its parent does", async () => {
    const parent = (await createToken(root, { policies: ["plain"], ttl: "1h" })).client_token;
    const batch = (await createToken(parent, { type: "batch", ttl: "1h" })).client_token;
    expect(await self(batch)).toMatchObject({ type: "batch", orphan: false, accessor: "", renewable: false });
    await call("POST", "auth/token/revoke", { token: root, body: { token: parent } });
    expect((await call("GET", "auth/token/lookup-self", { token: batch })).status).toBe(403);
    const seen = await call("POST", "auth/token/lookup", { token: root, body: { token: batch } });
    expect([seen.status, seen.body.errors]).toEqual([403, ["bad token"]]);
    const about = async (path: string) => {
      const answer = await call("POST", path, { token: root, body: { token: batch } });
      return [answer.status, answer.body?.errors];
    };
    expect(await about("auth/token/revoke")).toEqual([204, undefined]);
    expect(await about("auth/token/revoke-orphan")).toEqual([400, ["token to revoke not found"]]);
    expect(await about("auth/token/renew")).toEqual([400, ["token not found"]]);
  });

  it("refuses to carry more than a header can", async () => {
    const answer = await create(root, {
      type: "batch",
      policies: ["default"],
      ttl: "1h",
      meta: { a: "x".repeat(7000) },
    });
    expect(answer.status).toBe(400);
  });
});

describe("bound networks", () => {
  it("bind the token and what it creates; a root token that never ends is exempt", async () => {
    const from = (address: string) => ({ "CF-Connecting-IP": address });
    const use = (token: string, address: string) =>
      call("GET", "auth/token/lookup-self", { token, headers: from(address) });
    const bound = await growBound(plain, ["127.0.0.1", "1.2.3.4/8"]);
    expect((await use(bound, "127.0.0.1")).body.data.bound_cidrs).toEqual(["127.0.0.1", "1.2.3.4/8"]);
    expect((await use(bound, "1.99.0.1")).status).toBe(200);
    expect((await use(bound, "2.0.0.1")).status).toBe(403);
    expect((await call("GET", "auth/token/lookup-self", { token: bound })).status).toBe(403);
    const child = await call("POST", "auth/token/create", { token: bound, body: {}, headers: from("127.0.0.1") });
    expect((await use(child.body.auth.client_token, "2.0.0.1")).status).toBe(403);
    expect((await use(child.body.auth.client_token, "127.0.0.1")).status).toBe(200);
  });
});
