import { createExecutionContext } from "cloudflare:test";
import { DurableObject } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CronTrigger } from "../../../src/app/cron.ts";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import { ObjectMoves } from "../../../src/base/object-moves.ts";
import * as entry from "../../../src/index.ts";
import { systemOf } from "../../../src/system/system.ts";
import { type AppRoleMount, mountAppRole } from "../../support/app-role.ts";
import { atCalls, callsTo, failing, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { bindings, call, initialized } from "../../support/service.ts";

const { AccessorShard, AppRoleAuth, AppRoleSecretIds, EntityShard, System, TokenRoles, TokenTree } = entry;

const LOST = "Network connection lost.";
const POLICY = 'path "a" { capabilities = ["read"] }';
/** How many calls are lost while an object moves. */
const TIMES = 3;

let root: string;
let roles: AppRoleMount;
let entityId: string;

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const writeQuota = () => post("sys/quotas/rate-limit/q", { rate: 1e6 });
const get = (path: string) => call("GET", path, { token: root });

beforeAll(async () => {
  root = await initialized();
  roles = await mountAppRole(root, "approle");
  await roles.role("web");
  await roles.secretId("web");
  await post("auth/token/roles/service");
  await post("sys/policies/acl/p", { policy: POLICY });
  entityId = (await post("identity/entity", { name: "me" })).body.data.id;
});

beforeEach(() => {
  runAs(CLUSTER);
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

describe("while an object moves to another node", () => {
  it.each([
    ["secret-ids of a role", AppRoleSecretIds, "list", () => get("auth/approle/role/web/secret-id?list=true")],
    ["a role", AppRoleAuth, "readRole", () => get("auth/approle/role/web")],
    ["a token role", TokenRoles, "read", () => get("auth/token/roles/service")],
    ["a policy", System, "readPolicy", () => get("sys/policies/acl/p")],
    ["accessors", AccessorShard, "list", () => get("auth/token/accessors?list=true")],
    ["an entity", EntityShard, "readEntity", () => get(`identity/entity/id/${entityId}`)],
  ] as const)("a read is answered: %s", async (_, type, method, send) => {
    const lost = failing(type, method as never, LOST, TIMES);
    expect((await send()).status).toBe(200);
    expect(lost.calls.length).toBeGreaterThan(TIMES);
  });

  it.each([
    ["a policy", System, "writePolicy", 204, () => post("sys/policies/acl/p", { policy: POLICY })],
    ["a token role", TokenRoles, "write", 204, () => post("auth/token/roles/service", { orphan: true })],
    ["a quota", System, "writeQuota", 204, writeQuota],
  ] as const)("a change is made once, when the object has arrived: %s", async (_, type, method, status, send) => {
    const pings = failing(type, "ping", LOST, TIMES);
    const made = callsTo(type, method as never);
    expect((await send()).status).toBe(status);
    expect(pings.calls.length).toBeGreaterThan(TIMES);
    expect(made.calls).toHaveLength(1);
  });

  it("a change that no object recognises is not repeated", async () => {
    const lost = failing(System, "noteEncryptions", LOST);
    await expect(systemOf(bindings).noteEncryptions([], 1)).rejects.toThrow(LOST);
    expect(lost.calls).toHaveLength(1);
  });
});

describe("a node that is about to hand over its objects", () => {
  /** The node begins to leave, and this isolate meets no other node. */
  async function leave() {
    runAs({ ...CLUSTER, moves: new ObjectMoves() });
    await new CronTrigger(createExecutionContext(), bindings).fetch(new Request("http://localhost/leaving"));
  }

  it("begins no change that can't be repeated", async () => {
    await leave();
    const written = callsTo(System, "writePolicy");
    expect((await post("sys/policies/acl/left", { policy: POLICY })).status).toBe(503);
    expect(written.calls).toHaveLength(0);
  });

  it("counts no use of a token whose uses are limited", async () => {
    const made = await post("auth/token/create-orphan", { ttl: "1h", num_uses: 2 });
    const token: string = made.body.auth.client_token;
    const lookUp = () => call("GET", "auth/token/lookup-self", { token });
    await leave();
    expect((await lookUp()).status).toBe(503);
    runAs(CLUSTER);
    expect((await lookUp()).body.data.num_uses).toBe(1);
  });

  /** The next calls of trees are refused by such a node, and then served. */
  function refuseCalls() {
    const left = { refusals: TIMES };
    const leaving = new ObjectMoves();
    leaving.leave();
    atCalls(TokenTree, "run", ({ proceed }) => {
      if (left.refusals-- > 0) leaving.accept();
      return proceed();
    });
    return left;
  }

  it("has the use repeated at the next owner, as one", async () => {
    const made = await post("auth/token/create-orphan", { ttl: "1h", num_uses: 2 });
    const token: string = made.body.auth.client_token;
    const left = refuseCalls();
    expect((await call("GET", "auth/token/lookup-self", { token })).body.data.num_uses).toBe(1);
    expect(left.refusals).toBeLessThan(0);
  });

  it("has an unwrapping repeated, which a lost call would not be", async () => {
    const wrapped = await call("POST", "sys/wrapping/wrap", {
      token: root,
      body: { a: "b" },
      headers: { "X-Vault-Wrap-TTL": "60" },
    });
    const left = refuseCalls();
    const unwrapped = await call("POST", "sys/wrapping/unwrap", { token: wrapped.body.wrap_info.token });
    expect(unwrapped.body.data).toEqual({ a: "b" });
    expect(left.refusals).toBeLessThan(0);
  });
});

it("every object answers pings", () => {
  const objects = Object.values(entry).filter(
    (value) => typeof value === "function" && value.prototype instanceof DurableObject,
  );
  expect(objects.length).toBeGreaterThan(20);
  for (const { name, prototype } of objects as { name: string; prototype: object }[]) {
    expect("ping" in prototype, name).toBe(true);
  }
});
