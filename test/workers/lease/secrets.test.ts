import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { atCalls, atNth, failing } from "../../support/calls.ts";
import { advance, indexedPaths, leaseFor, leaseRows, register, runAlarm } from "../../support/leases.ts";
import { call, createToken, initialized, tokenUnder } from "../../support/service.ts";
import { standInForTargets } from "../../support/targets.ts";
import { evictTree, holdSweeps, locate } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  holdSweeps();
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
/** The first token of a tree of its own. */
const holder = async (fields: Record<string, unknown> = {}) =>
  (await post("auth/token/create-orphan", { policies: ["default"], ttl: "2h", ...fields })).body.auth.client_token;
const errorsOf = async (path: string, body: unknown) => {
  const answer = await post(path, body);
  return [answer.status, ...answer.body.errors];
};

describe("a lease that is registered while its holder is revoked", () => {
  it("is not found: it has ended with the holder, and its revocation is sent", async () => {
    const received = standInForTargets();
    const holder = await createToken(root, { ttl: "1h" });
    atNth(AccessorShard, "addLease", 1, async (proceed) => {
      await proceed();
      await call("POST", "auth/token/revoke", { token: root, body: { token: holder.client_token } });
    });
    const refused = await register(root, holder.client_token, { path: "race/x" });
    expect([refused.status, refused.body.errors]).toEqual([400, ["token not found"]]);
    await runAlarm(holder.client_token);
    expect(received.map(({ body }) => body.path)).toEqual(["race/x"]);
  });
});

describe("a lease of a secret", () => {
  it("begins with its path, is longer, and shows what it is", async () => {
    const answer = await register(root, await holder(), { ttl: "90s" });
    expect(answer).toMatchObject({
      status: 200,
      body: { renewable: true, lease_duration: 90, auth: null, data: null },
    });
    const id = answer.body.lease_id as string;
    expect(id).toMatch(/^db\/creds\/app\/[\w-]{84}$/);
    const seen = await post("sys/leases/lookup", { lease_id: id });
    expect(seen.body.data).toEqual({
      id,
      path: "db/creds/app",
      target: "db.example.com",
      renewable: true,
      issue_time: expect.any(String),
      expire_time: expect.any(String),
      last_renewal: null,
      ttl: 90,
    });
  });

  it("can be given by the holder's accessor", async () => {
    const { accessor } = (await post("auth/token/create-orphan", { policies: ["default"] })).body.auth;
    expect((await register(root, "", { token: undefined, accessor })).status).toBe(200);
  });

  it("is renewed with the same id, by its last grant or by what is asked, never past its maximum", async () => {
    const id = await leaseFor(root, await holder(), { ttl: "60s", max_ttl: "100s" });
    advance(10);
    const renewed = await post("sys/leases/renew", { lease_id: id });
    expect(renewed.body).toMatchObject({ lease_id: id, lease_duration: 60, renewable: true });
    expect((await post(`sys/leases/renew/${id}`, { increment: "30s" })).body).toMatchObject({ lease_duration: 30 });
    const capped = await post(`sys/leases/renew/other`, { lease_id: id, increment: 1000 });
    expect(capped.body).toMatchObject({ lease_duration: 90 });
    expect(capped.body.warnings[0]).toContain("exceeded the effective max_ttl");
    expect((await post("sys/leases/lookup", { lease_id: id })).body.data).toMatchObject({
      last_renewal: expect.any(String),
      ttl: 90,
    });
  });

  it("is judged by policies alike with its id in the path or in the body", async () => {
    const token = await holder();
    const id = await leaseFor(root, token, { path: "prod/creds" });
    const own = await leaseFor(root, token, { path: "ci/creds" });
    const rules = ["renew", "revoke"].map((verb) => `path "sys/leases/${verb}/ci/*" { capabilities = ["update"] }`);
    const ci = await tokenUnder(root, rules.join("\n"));
    for (const verb of ["renew", "revoke"]) {
      for (const path of [`sys/leases/${verb}/${own}`, `sys/leases/${verb}/ci/x`]) {
        expect((await call("POST", path, { token: ci, body: { lease_id: id } })).status).toBe(403);
      }
    }
    expect((await post("sys/leases/lookup", { lease_id: id })).status).toBe(200);
    expect((await call("POST", `sys/leases/renew/${own}`, { token: ci })).status).toBe(200);
    expect((await call("POST", "sys/leases/renew/ci/x", { token: ci, body: { lease_id: own } })).status).toBe(200);
    expect((await call("POST", "sys/leases/renew/prod/x", { token: ci, body: { lease_id: own } })).status).toBe(200);
  });

  it("has one spelling: another path before the same tail is no lease", async () => {
    const id = await leaseFor(root, await holder());
    const other = `db/creds/admin/${id.split("/").at(-1)}`;
    expect(await errorsOf("sys/leases/lookup", { lease_id: other })).toEqual([400, "invalid lease"]);
    expect(await errorsOf("sys/leases/renew", { lease_id: other })).toEqual([400, "lease not found"]);
    expect((await post("sys/leases/revoke", { lease_id: other })).status).toBe(204);
    expect((await post("sys/leases/lookup", { lease_id: id })).status).toBe(200);
  });

  it("that is not renewable is not renewed, and no target is notified", async () => {
    const received = standInForTargets();
    const id = await leaseFor(root, await holder(), { renewable: false });
    expect(await errorsOf("sys/leases/renew", { lease_id: id })).toEqual([400, "lease is not renewable"]);
    expect(received).toEqual([]);
  });

  it("ends with its token: the target is notified shortly after", async () => {
    const received = standInForTargets();
    const token = await holder();
    const id = await leaseFor(root, token, { path: "t60/x", data: { username: "v-app-1" } });
    await post("auth/token/revoke", { token });
    expect(await errorsOf("sys/leases/lookup", { lease_id: id })).toEqual([400, "invalid lease"]);
    expect(await errorsOf("sys/leases/renew", { lease_id: id })).toEqual([400, "lease not found"]);
    await runAlarm(token);
    expect(received.map(({ body }) => [body.lease_id, body.data])).toEqual([[id, { username: "v-app-1" }]]);
    expect(await leaseRows(token)).toEqual([]);
    expect(await indexedPaths("secret")).not.toContain("t60/x");
    await runAlarm(token);
    expect(received).toHaveLength(1);
  });

  it("ends with any token above its holder, by revocation, use count and expiry alike", async () => {
    const received = standInForTargets();
    await post("sys/policies/acl/maker", { policy: 'path "auth/token/*" { capabilities = ["update", "sudo"] }' });
    const grown = async (fields: Record<string, unknown> = {}) => {
      const top = await holder({ policies: ["maker", "default"], ...fields });
      const child = (await createToken(top)).client_token;
      return { top, id: await leaseFor(root, (await createToken(child)).client_token) };
    };
    const revoked = await grown();
    await post("auth/token/revoke", { token: revoked.top });
    await runAlarm(revoked.top);
    const orphaned = await grown();
    await post("auth/token/revoke-orphan", { token: orphaned.top });
    await runAlarm(orphaned.top);
    const spent = await holder({ num_uses: 1 });
    const ofSpent = await leaseFor(root, spent);
    await call("GET", "auth/token/lookup-self", { token: spent });
    await runAlarm(spent);
    const expired = await grown({ ttl: "60s" });
    advance(61);
    await runAlarm(expired.top);
    expect(received.map(({ body }) => body.lease_id)).toEqual([revoked.id, ofSpent, expired.id]);
    expect((await post("sys/leases/lookup", { lease_id: orphaned.id })).status).toBe(200);
  });

  it("ends by itself, also right after a renewal that was short", async () => {
    const received = standInForTargets();
    const token = await holder();
    const [short, renewed] = [await leaseFor(root, token, { ttl: "10s" }), await leaseFor(root, token, { ttl: "60s" })];
    await post("sys/leases/renew", { lease_id: renewed, increment: "20s" });
    advance(10);
    expect(await errorsOf("sys/leases/renew", { lease_id: short })).toEqual([400, "lease expired"]);
    expect(await errorsOf("sys/leases/lookup", { lease_id: short })).toEqual([400, "invalid lease"]);
    await runAlarm(token);
    expect(received.map(({ body }) => body.lease_id)).toEqual([short]);
    advance(10);
    await runAlarm(token);
    expect(received.map(({ body }) => body.lease_id)).toEqual([short, renewed]);
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(200);
  });

  it("that expired while its object was gone is revoked when it wakes", async () => {
    const received = standInForTargets();
    const token = await holder();
    const id = await leaseFor(root, token, { ttl: "60s" });
    await evictTree((await locate(token)).stub);
    advance(61);
    expect(await errorsOf("sys/leases/lookup", { lease_id: id })).toEqual([400, "invalid lease"]);
    await runAlarm(token);
    expect(received.map(({ body }) => body.lease_id)).toEqual([id]);
    expect(await leaseRows(token)).toEqual([]);
  });

  it("sets the alarm of its tree to the earliest of all due times", async () => {
    const token = await holder({ ttl: "2h" });
    const { stub } = await locate(token);
    const alarmIn = async () =>
      Math.round(
        ((await runInDurableObject(stub, (_, state) => state.storage.getAlarm())) ?? 0) / 1000 - Date.now() / 1000,
      );
    await leaseFor(root, token, { ttl: "3h" });
    expect(await alarmIn()).toBe(7200);
    await leaseFor(root, token, { ttl: "1h" });
    expect(await alarmIn()).toBe(3600);
    const soon = await leaseFor(root, token, { ttl: "20m" });
    await post("sys/leases/renew", { lease_id: soon, increment: "10m" });
    expect(await alarmIn()).toBe(600);
    await post("sys/leases/renew", { lease_id: soon, increment: "90m" });
    advance(600);
    await runAlarm(token);
    expect(await alarmIn()).toBe(3000);
  });
});

describe("registration", () => {
  it.each([
    [{ path: "" }, "path must consist of"],
    [{ path: "auth/token/create" }, "path must begin with the name of the engine"],
    [{ path: "db/../x" }, "path cannot contain parent references"],
    [{ target: "" }, "target must be specified"],
    [{ target: "http://db.example.com/" }, "target must be an https URL"],
    [{ target: "https://169.254.169.254/latest" }, "target must be a host on the public internet"],
    [{ ttl: "-1s" }, "ttl must be positive"],
    [{ data: "x" }, "Field validation failed"],
    [{ data: { x: "y".repeat(9000) } }, "data is too large"],
    [{ accessor: "x" }, "exactly one of token and accessor must be specified"],
    [{ token: "" }, "exactly one of token and accessor must be specified"],
    [{ token: "s.unknown" }, "token not found"],
    [{ token: "", accessor: "unknown" }, "token not found"],
  ])("refuses %j", async (fields, message) => {
    const answer = await register(root, await holder(), fields);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toContain(message);
  });

  it("needs a policy that allows it, and gives the signing key to those with sudo alone", async () => {
    const token = await holder();
    expect((await call("POST", "sys/leases/register", { token, body: {} })).status).toBe(403);
    await post("sys/policies/acl/engine", { policy: 'path "sys/leases/*" { capabilities = ["update"] }' });
    const engine = await holder({ policies: ["engine"] });
    const target = "https://db.example.com/revoke";
    const registered = await call("POST", "sys/leases/register", {
      token: engine,
      body: { token, path: "db", target },
    });
    expect(registered.status).toBe(200);
    expect((await call("POST", "sys/leases/signing-key", { token: engine, body: { target } })).status).toBe(403);
    expect((await post("sys/leases/signing-key", { target })).body.data).toEqual({
      key: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      algorithm: "HMAC-SHA256",
      header: "Grove-Signature",
    });
  });

  it("gives no lease to a token that has ended, or ends during the call", async () => {
    const received = standInForTargets();
    const token = await holder();
    const dying = atCalls(AccessorShard, "addLease", async ({ proceed }) => {
      await post("auth/token/revoke", { token });
      await runAlarm(token);
      return proceed();
    });
    expect((await register(root, token)).body.errors).toEqual(["token not found"]);
    // The engine is asked to revoke a secret without a lease. That is harmless; a secret without a revocation is not.
    expect(received).toHaveLength(1);
    dying.end();
    expect((await register(root, token)).body.errors).toEqual(["token not found"]);
  });

  it("leaves nothing behind when the index can't be written", async () => {
    const token = await holder();
    failing(AccessorShard, "addLease", "the shard is gone for a moment");
    expect((await register(root, token)).status).toBe(503);
    expect(await leaseRows(token)).toEqual([]);
  });
});

describe("a lease of a batch token", () => {
  async function batchBelow(parent: string): Promise<string> {
    const made = await call("POST", "auth/token/create", { token: parent, body: { type: "batch", ttl: "100s" } });
    return made.body.auth.client_token;
  }

  async function parentToken(): Promise<string> {
    await post("sys/policies/acl/maker", { policy: 'path "auth/token/create" { capabilities = ["update"] }' });
    return holder({ policies: ["maker", "default"] });
  }

  it("is capped by the token, shrinks with each renewal, then disappears", async () => {
    const received = standInForTargets();
    const parent = await parentToken();
    const batch = await batchBelow(parent);
    const answer = await register(root, batch, { path: "t79/x", ttl: "1h" });
    expect(Number(answer.body.lease_duration)).toBeLessThanOrEqual(100);
    const id = answer.body.lease_id as string;
    let last = 101;
    for (const seconds of [20, 30, 40]) {
      advance(seconds);
      const renewed = Number((await post("sys/leases/renew", { lease_id: id, increment: "1h" })).body.lease_duration);
      expect(renewed).toBeLessThan(last);
      last = renewed;
    }
    advance(11);
    expect(await errorsOf("sys/leases/renew", { lease_id: id })).toEqual([400, "lease expired"]);
    await runAlarm(parent);
    expect(received).toHaveLength(1);
    expect(await indexedPaths("secret")).not.toContain("t79/x");
    expect((await register(root, batch)).body.errors).toEqual(["token not found"]);
  });

  it("ends with the token's parent", async () => {
    const received = standInForTargets();
    const parent = await parentToken();
    const batch = await batchBelow(parent);
    const id = await leaseFor(root, batch);
    await post("auth/token/revoke", { token: parent });
    expect((await call("GET", "auth/token/lookup-self", { token: batch })).status).toBe(403);
    expect(await errorsOf("sys/leases/lookup", { lease_id: id })).toEqual([400, "invalid lease"]);
    await runAlarm(parent);
    expect(received.map(({ body }) => body.lease_id)).toEqual([id]);
  });

  it("needs a parent that can end it", async () => {
    const made = await post("auth/token/create-orphan", { type: "batch", ttl: "100s", policies: ["default"] });
    expect((await register(root, made.body.auth.client_token)).body.errors).toEqual([
      "a batch token without a parent cannot hold leases: nothing would end them",
    ]);
  });
});
