import { createExecutionContext } from "cloudflare:test";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import worker from "../../../src/index.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { NO_WATERMARKS } from "../../../src/system/watermarks.ts";
import { readServiceToken } from "../../../src/token/ids.ts";
import { knownToken, NO_KNOWN_TOKENS } from "../../../src/tree/known-tokens.ts";
import { TreeStore } from "../../../src/tree/tree-store.ts";
import { callsTo } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { evictTree, holdInventory, holdSweeps, locate, sweep } from "../../support/trees.ts";

/** Does `work` as a Worker that asks the trees. */
async function askingTrees<T>(work: () => Promise<T>): Promise<T> {
  runAs({ ...ONE_PROCESS, knownTokens: NO_KNOWN_TOKENS });
  try {
    return await work();
  } finally {
    runAs(ONE_PROCESS);
  }
}

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initialized();
  await call("POST", "auth/token/roles/person", { token: root, body: { allowed_entity_aliases: "*" } });
});
afterAll(() => {
  runAs(NETWORK);
});
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

/** Status and data of a look-up of oneself. */
function lookUp(token: string, env = bindings, clientAddress = "192.0.2.1"): Promise<string> {
  const headers = { "X-Vault-Token": token, "CF-Connecting-IP": clientAddress };
  return read(new Request("http://grove.test/v1/auth/token/lookup-self", { headers }), env);
}

/** The same of a look-up by root. */
function lookUpByRoot(token: string, env = bindings): Promise<string> {
  const body = JSON.stringify({ token });
  const headers = { "X-Vault-Token": root };
  return read(new Request("http://grove.test/v1/auth/token/lookup", { method: "POST", headers, body }), env);
}

async function read(request: Request, env: typeof bindings): Promise<string> {
  const answer = await worker.fetch(request, env, createExecutionContext());
  const { data, errors } = (await answer.json()) as { data?: unknown; errors?: unknown };
  return JSON.stringify([answer.status, data ?? errors]);
}

/** True when the Worker would not ask the tree. */
async function isKnown(token: string): Promise<boolean> {
  const installation = await loadInstallation(bindings);
  if (!installation.ok) return false;
  const { keys, watermarks } = installation.value;
  const credential = await readServiceToken(keys, token);
  return (
    credential !== null && knownToken(bindings.deployment.knownTokens, credential, watermarks, Date.now()) !== null
  );
}

/** Looks it up until the tree has made it known: what was written last has to be on disk first. */
async function makeKnown(token: string): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    await lookUp(token);
    if (await isKnown(token)) return true;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return false;
}

async function orphan(fields: Record<string, unknown> = {}): Promise<string> {
  const body = { policies: ["default"], ttl: "1h", ...fields };
  return (await call("POST", "auth/token/create-orphan", { token: root, body })).body.auth.client_token;
}

describe("a token that its tree shares with the isolate", () => {
  it("is refused by the first request after its revocation, or that of an ancestor", async () => {
    const top = await orphan({ policies: ["root"] });
    const middle = (await createToken(top, { policies: ["root"], ttl: "1h" })).client_token;
    const leaf = (await createToken(middle, { policies: ["default"], ttl: "1h" })).client_token;
    for (const token of [top, middle, leaf]) expect(await makeKnown(token)).toBe(true);
    await call("POST", "auth/token/revoke", { token: root, body: { token: middle } });
    expect(await lookUp(leaf)).toContain("[403");
    expect(await lookUp(middle)).toContain("[403");
    expect(await lookUp(top)).toContain("[200");
  });

  it("makes children without its row being read, and none from the first moment after its end", async () => {
    holdInventory();
    const top = await orphan({ policies: ["root"] });
    const middle = (await createToken(top, { policies: ["root"], ttl: "60s" })).client_token;
    const making = (token: string) => call("POST", "auth/token/create", { token, body: { policies: ["default"] } });
    for (const token of [top, middle]) expect(await makeKnown(token)).toBe(true);
    const reading = callsTo(TreeStore, "live");
    expect((await making(middle)).status).toBe(200);
    expect(reading.calls).toHaveLength(0);
    reading.end();
    pass(60);
    expect((await making(middle)).status).toBe(403);
    const other = await orphan({ policies: ["root"] });
    const below = (await createToken(other, { policies: ["root"], ttl: "1h" })).client_token;
    for (const token of [other, below]) expect(await makeKnown(token)).toBe(true);
    await call("POST", "auth/token/revoke", { token: root, body: { token: other } });
    for (const token of [other, below]) expect((await making(token)).status).toBe(403);
  });

  it("is refused by the first request after a revocation by prefix of it or of an ancestor", async () => {
    await call("POST", "sys/policies/acl/anything", {
      token: root,
      body: { policy: 'path "*" { capabilities = ["create", "update", "read"] }' },
    });
    await call("POST", "auth/token/roles/ended", { token: root, body: { orphan: true } });
    const body = { policies: ["anything"], ttl: "1h" };
    const parent = (await call("POST", "auth/token/create/ended", { token: root, body })).body.auth.client_token;
    const child = (await createToken(parent, { policies: ["default"], ttl: "1h" })).client_token;
    const other = await orphan();
    for (const token of [parent, child, other]) expect(await makeKnown(token)).toBe(true);
    await call("POST", "sys/leases/revoke-prefix/auth/token/create/ended", { token: root });
    expect(await lookUp(child)).toContain("[403");
    expect(await lookUp(parent)).toContain("[403");
    expect(await lookUp(other)).toContain("[200");
  });

  it("ends with its time, and with that of its parent", async () => {
    const parent = await orphan({ policies: ["root"], ttl: "60s" });
    const child = (await createToken(parent, { policies: ["default"], ttl: "1h" })).client_token;
    for (const token of [parent, child]) expect(await makeKnown(token)).toBe(true);
    pass(59.999);
    expect(await lookUp(child)).toContain("[200");
    pass(0.001);
    expect(await lookUp(child)).toContain("[403");
    expect(await lookUp(parent)).toContain("[403");
  });

  it("shows a renewal at once, also one to an earlier end", async () => {
    const token = await orphan({ policies: ["default"], ttl: "2h" });
    expect(await makeKnown(token)).toBe(true);
    await call("POST", "auth/token/renew-self", { token, body: { increment: "60s" } });
    expect(await lookUp(token)).toBe(await askingTrees(() => lookUp(token)));
    expect(await lookUp(token)).toContain('"ttl":60,');
    pass(60);
    expect(await lookUp(token)).toContain("[403");
  });

  it("is refused with a text that has another keyed hash", async () => {
    const token = await orphan();
    expect(await makeKnown(token)).toBe(true);
    const { treeId, row } = await locate(token);
    expect(
      knownToken(
        bindings.deployment.knownTokens,
        { treeId, row, verifier: new Uint8Array(24) },
        NO_WATERMARKS,
        Date.now(),
      ),
    ).toBe(null);
  });

  it("is forgotten when its object wakes again", async () => {
    const token = await orphan();
    expect(await makeKnown(token)).toBe(true);
    const stub = await evictTree((await locate(token)).stub);
    // Nothing can have changed without the object, so it is still good; whatever wakes it takes it back.
    expect(await isKnown(token)).toBe(true);
    await stub.rowStatus(0);
    expect(await isKnown(token)).toBe(false);
    expect(await makeKnown(token)).toBe(true);
  });

  it("follows its entity: disabling it refuses the token", async () => {
    const made = await call("POST", "auth/token/create/person", { token: root, body: { entity_alias: "anna" } });
    const { client_token: token, entity_id: id } = made.body.auth;
    expect(await makeKnown(token)).toBe(true);
    await call("POST", `identity/entity/id/${id}`, { token: root, body: { disabled: true } });
    expect(await lookUp(token)).toContain("[403");
    await call("POST", `identity/entity/id/${id}`, { token: root, body: { disabled: false } });
    expect(await lookUp(token)).toContain("[200");
  });

  it("has the policies of its entity, as they are now", async () => {
    const rules = 'path "sys/policies/acl/x" { capabilities = ["read"] }';
    await call("POST", "sys/policies/acl/of-entity", { token: root, body: { policy: rules } });
    const body = { entity_alias: "bella", policies: ["default"] };
    const made = await call("POST", "auth/token/create/person", { token: root, body });
    const { client_token: token, entity_id: id } = made.body.auth;
    expect(await makeKnown(token)).toBe(true);
    const read = async () => (await call("GET", "sys/policies/acl/x", { token })).status;
    expect(await read()).toBe(403);
    await call("POST", `identity/entity/id/${id}`, { token: root, body: { policies: ["of-entity"] } });
    expect([await isKnown(token), await read()]).toEqual([true, 404]);
    await call("POST", `identity/entity/id/${id}`, { token: root, body: { policies: [] } });
    expect(await read()).toBe(403);
  });

  it("follows the policies as they are now", async () => {
    const write = (text: string) => call("POST", "sys/policies/acl/changing", { token: root, body: { policy: text } });
    await write('path "sys/policies/acl/x" { capabilities = ["read"] }');
    const token = await orphan({ policies: ["changing"] });
    expect(await makeKnown(token)).toBe(true);
    const read = async () => (await call("GET", "sys/policies/acl/x", { token })).status;
    expect(await read()).toBe(404);
    await write('path "sys/policies/acl/y" { capabilities = ["read"] }');
    expect(await read()).toBe(403);
  });

  it("validates its batch tokens only while it lives", async () => {
    const parent = await orphan({ policies: ["root"] });
    const batch = (await createToken(parent, { type: "batch", policies: ["default"], ttl: "1h" })).client_token;
    expect(await makeKnown(parent)).toBe(true);
    expect(await lookUp(batch)).toContain("[200");
    await call("POST", "auth/token/revoke", { token: root, body: { token: parent } });
    expect(await lookUp(batch)).toContain("[403");
  });
});

describe("a request with a token that is shared", () => {
  /** No tree can be asked: each is refused as if no installation had made its id. */
  const treeless = {
    ...bindings,
    TOKEN_TREE: new Proxy(bindings.TOKEN_TREE, {
      get(trees, name) {
        if (name === "idFromString") throw new Error("a tree was asked");
        return Reflect.get(trees, name);
      },
    }),
  };
  let token: string;
  let other: string;

  beforeAll(async () => {
    token = await orphan({ policies: ["root"] });
    other = await orphan();
    await call("POST", "sys/policies/acl/read", { token, body: { policy: 'path "x" { capabilities = ["read"] }' } });
  });

  it.each([
    ["GET", "v1/auth/token/lookup-self", () => null],
    ["POST", "v1/auth/token/lookup", () => ({ token: other })],
    ["POST", "v1/auth/token/create", () => ({ type: "batch", policies: ["default"], ttl: "1h" })],
    ["GET", "v1/sys/policies/acl/read", () => null],
    ["GET", "v1/sys/policies/acl?list=true", () => null],
    ["POST", "v1/sys/policies/acl/written", () => ({ policy: 'path "x" { capabilities = ["read"] }' })],
    ["POST", "v1/sys/capabilities-self", () => ({ paths: ["x"] })],
    ["POST", "v1/sys/capabilities", () => ({ token: other, paths: ["x"] })],
    ["GET", "v1/sys/auth", () => null],
    ["POST", "v1/auth/token/roles/written", () => ({ orphan: true })],
    ["POST", "v1/identity/entity", () => ({ name: "written" })],
    ["GET", "api/v2/organizations", () => null],
    [
      "POST",
      "api/v2/organizations",
      () => ({ data: { type: "organizations", attributes: { name: "known", email: "admin@example.com" } } }),
    ],
  ])("%s %s is answered without its tree", async (method, path, bodyOf) => {
    for (const one of [token, other]) expect(await makeKnown(one)).toBe(true);
    const body = bodyOf();
    const type = path.startsWith("api/") ? "application/vnd.api+json" : "application/json";
    const headers = { "X-Vault-Token": token, Authorization: `Bearer ${token}`, "Content-Type": type };
    const request = new Request(`http://grove.test/${path}`, { method, headers, body: body && JSON.stringify(body) });
    const answer = await worker.fetch(
      request,
      { ...treeless, deployment: bindings.deployment },
      createExecutionContext(),
    );
    expect([answer.status, await answer.text()]).toEqual([
      expect.toSatisfy((status) => status < 300),
      expect.anything(),
    ]);
  });
});

describe("what is never shared", () => {
  it("are tokens with limited uses: each is counted in the tree", async () => {
    const token = await orphan({ num_uses: 3 });
    for (const left of [2, 1, -1]) expect(await lookUp(token)).toContain(`"num_uses":${left}`);
    expect(await lookUp(token)).toContain("[403");
  });

  it("are tokens bound to networks", async () => {
    const body = { token_bound_cidrs: "192.0.2.0/24" };
    await call("POST", "auth/token/roles/bound", { token: root, body });
    const made = await call("POST", "auth/token/create/bound", { token: root, body: { ttl: "1h" } });
    const token = made.body.auth.client_token;
    for (let look = 0; look < 5; look++) expect(await lookUp(token)).toContain("[200");
    expect(await isKnown(token)).toBe(false);
    expect(await lookUp(token, bindings, "198.51.100.1")).toContain("[403");
  });

  it("is anything, where the objects can be elsewhere", async () => {
    runAs(NETWORK);
    const token = await orphan();
    for (let look = 0; look < 5; look++) await lookUp(token);
    runAs(ONE_PROCESS);
    expect(await isKnown(token)).toBe(false);
  });
});

const step = fc.record({
  do: fc.constantFrom(
    ...(["child", "child", "orphan", "batch", "person", "revoke", "revokeOrphan", "revokeAccessor"] as const),
    ...(["renew", "renew", "pass", "pass", "sweep", "wake", "disable", "enable", "revokePrefix"] as const),
    ...(["entityPolicies", "joinGroup", "leaveGroup", "policy", "counted", "bound"] as const),
  ),
  at: fc.nat(),
  seconds: fc.integer({ min: 1, max: 90 }),
});

describe("a random history", () => {
  it("gets every answer that a Worker gets which asks the trees, at every moment", async () => {
    const seen = { known: 0, allowed: 0 };
    // Thousands of audit lines that nobody reads would be most of the time.
    vi.spyOn(console, "log").mockReturnValue();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
        const { known, allowed } = await play(steps);
        seen.known += known;
        seen.allowed += allowed;
      }),
      { numRuns: 7 },
    );
    expect(seen.known).toBeGreaterThan(20);
    expect(seen.allowed).toBeGreaterThan(20);
  });
});

/** Tokens in one history. */
const MOST = 8;

interface Made {
  readonly token: string;
  readonly accessor: string;
  readonly entity: string;
  readonly counted: boolean;
}

/** A path that only the policy of entities and groups grants. */
const PROBE = "sys/policies/acl/probed";

/** Status and data of a request that the policies of the token and of its entity decide about. */
function probe(token: string, env = bindings): Promise<string> {
  const headers = { "X-Vault-Token": token, "CF-Connecting-IP": "192.0.2.1" };
  return read(new Request(`http://grove.test/v1/${PROBE}`, { headers }), env);
}

/**
 * Plays a history and compares after each step.
 *
 * @returns how many tokens the Worker could decide about alone, and how many requests only an entity's policies allowed or root's.
 */
async function play(steps: readonly { readonly do: string; readonly at: number; readonly seconds: number }[]) {
  const all: Made[] = [];
  let known = 0;
  let allowed = 0;
  const make = async (token: string, path: string, body: Record<string, unknown>) => {
    if (all.length === MOST) return;
    const { status, body: answer } = await call("POST", `auth/token/${path}`, { token, body });
    if (status !== 200) return;
    const { client_token, accessor, entity_id } = answer.auth;
    all.push({ token: client_token, accessor, entity: String(entity_id), counted: body.num_uses !== undefined });
  };
  await call("POST", "auth/token/roles/bound", {
    token: root,
    body: { token_bound_cidrs: "192.0.2.0/24", orphan: true },
  });
  await make(root, "create-orphan", { policies: ["root"], ttl: "10m" });
  for (const { do: what, at, seconds } of steps) {
    const one = all[at % all.length];
    if (!one) throw new Error("a history begins with a token");
    const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
    const ttl = `${seconds}s`;
    const tree = one.token.startsWith("s.") ? (await locate(one.token)).stub : null;
    if (what === "child") await make(one.token, "create", { policies: ["root"], ttl });
    else if (what === "orphan") await make(root, "create-orphan", { policies: ["default"], ttl });
    else if (what === "batch") await make(one.token, "create", { type: "batch", policies: ["default"], ttl });
    else if (what === "person") await make(root, "create/person", { entity_alias: `p${at % 3}`, ttl });
    else if (what === "revoke") await post("auth/token/revoke", { token: one.token });
    else if (what === "revokeOrphan") await post("auth/token/revoke-orphan", { token: one.token });
    else if (what === "revokeAccessor") await post("auth/token/revoke-accessor", { accessor: one.accessor });
    else if (what === "revokePrefix") await post("sys/leases/revoke-prefix/auth/token/create/person", {});
    else if (what === "renew") await post("auth/token/renew", { token: one.token, increment: ttl });
    else if (what === "pass") pass(seconds / 3);
    else if (what === "sweep" && tree) await sweep(tree);
    else if (what === "wake" && tree) await evictTree(tree);
    else if (what === "disable" || what === "enable") {
      if (one.entity !== "") await post(`identity/entity/id/${one.entity}`, { disabled: what === "disable" });
    } else if (what === "entityPolicies") {
      if (one.entity !== "")
        await post(`identity/entity/id/${one.entity}`, { policies: at % 2 === 0 ? ["probe"] : [] });
    } else if (what === "joinGroup" || what === "leaveGroup") {
      const members = what === "joinGroup" && one.entity !== "" ? [one.entity] : [];
      await post("identity/group/name/probing", { policies: ["probe"], member_entity_ids: members });
    } else if (what === "policy") {
      const capabilities = at % 3 === 0 ? "deny" : "read";
      await post("sys/policies/acl/probe", { policy: `path "${PROBE}" { capabilities = ["${capabilities}"] }` });
    } else if (what === "counted") await make(root, "create-orphan", { policies: ["default"], ttl, num_uses: 9 });
    else if (what === "bound") await make(root, "create/bound", { ttl });
    for (const { token, counted } of all) {
      if (token.startsWith("s.") && (await isKnown(token))) known++;
      const look = at % 2 === 0 ? lookUp : lookUpByRoot;
      // A token with limited uses is asked for by root alone: each answer to itself would show another number.
      const asks = counted ? [lookUpByRoot] : [look, probe];
      for (const ask of asks) {
        const here = await ask(token);
        const there = await askingTrees(() => ask(token));
        // The tree's answer has made it known for the next step.
        if (here !== there) throw new Error(`after ${what}: ${here}, but the tree says ${there}`);
        if (ask === probe && here.startsWith("[404")) allowed++;
      }
    }
  }
  return { known, allowed };
}
