import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, exampleBindings, initialized } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

/** The examples of a protected API and of a Worker that hands out secrets, bound to the Grove of this test. */
const { PROTECTED_API: api, SECRET_ENGINE_SITE: engine, ACCOUNTS: accounts } = exampleBindings;

let root: string;

beforeAll(async () => {
  root = await initialized();
  for (const [name, policy] of [
    ["reports", 'path "reports/+" { capabilities = ["read"] } path "reports/secret" { capabilities = ["deny"] }'],
    ["accounts", 'path "accounts/reader" { capabilities = ["read"] }'],
  ]) {
    await call("POST", `sys/policies/acl/${name}`, { token: root, body: { policy } });
  }
});

async function get(path: string, headers: Record<string, string>) {
  const response = await api.fetch(`https://api.test${path}`, { headers });
  return {
    status: response.status,
    challenge: response.headers.get("WWW-Authenticate"),
    body: await response.json(),
  };
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe("an API behind the middleware", () => {
  it("lets a caller in whose policies allow the path, and knows who it is", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"], display_name: "ci" });
    expect(await get("/reports/daily", bearer(token))).toEqual({
      status: 200,
      challenge: null,
      body: { report: "daily", reader: "token-ci" },
    });
  });

  it("answers 401 without a good token, and 403 when the policies refuse", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"] });
    expect(await get("/reports/daily", {})).toMatchObject({ status: 401, challenge: "Bearer" });
    for (const path of ["/reports/secret", "/reports/%73ecret"]) {
      expect(await get(path, bearer(token))).toMatchObject({ status: 403 });
    }
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    const revoked = { status: 401, challenge: 'Bearer error="invalid_token"', body: { errors: ["invalid token"] } };
    expect(await get("/reports/daily", bearer(token))).toEqual(revoked);
  });

  it("counts a use for each request", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"], num_uses: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await get("/reports/daily", bearer(token))).status);
    expect(statuses).toEqual([200, 200, 401]);
  });

  it("refuses a token that is bound to networks when the address is unknown or elsewhere", async () => {
    const role = { allowed_policies: "reports", token_bound_cidrs: "192.0.2.0/24" };
    await call("POST", "auth/token/roles/bound", { token: root, body: role });
    const made = await call("POST", "auth/token/create/bound", { token: root, body: { policies: ["reports"] } });
    const { client_token: token } = made.body.auth ?? {};
    const from = (address?: string) =>
      get("/reports/daily", { ...bearer(String(token)), ...(address && { "CF-Connecting-IP": address }) });
    expect((await from("192.0.2.7")).status).toBe(200);
    for (const address of [undefined, "198.51.100.7"]) expect((await from(address)).status).not.toBe(200);
  });
});

async function account(role: string, token?: string) {
  const headers = token === undefined ? {} : { "X-Vault-Token": token };
  const response = await engine.fetch(`https://engine.test/accounts/${role}`, { headers });
  const body = (await response.json()) as { lease_id?: string; data?: { name: string }; errors?: string[] };
  return { status: response.status, body };
}

describe("a Worker with a service binding to TokenAuthority", () => {
  it("hands out what the policies allow, under a lease that Grove knows", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"], display_name: "reader" });
    const { status, body } = await account("reader", token);
    expect(status).toBe(200);
    expect(await accounts.get(body.data?.name ?? "", "json")).toEqual({ owner: "token-reader" });
    const lease = await call("POST", "sys/leases/lookup", { token: root, body: { lease_id: body.lease_id } });
    expect(lease.body.data).toMatchObject({ path: "accounts/reader", renewable: true });
  });

  it("refuses what they do not, and every token that is not valid", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const refused = { status: 403, body: { errors: ["permission denied"] } };
    expect(await account("writer", token)).toEqual(refused);
    for (const bad of [undefined, "", "s.forged", `${token}x`]) expect(await account("reader", bad)).toEqual(refused);
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    expect(await account("reader", token)).toEqual(refused);
  });

  it("revokes the secrets that it issued when the token ends", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const { stub } = await locate(token);
    const { body } = await account("reader", token);
    const name = body.data?.name ?? "";
    expect(await accounts.get(name)).not.toBeNull();
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    for (let i = 0; i < 10 && (await accounts.get(name)) !== null; i++) await runDurableObjectAlarm(stub);
    expect(await accounts.get(name)).toBeNull();
  });

  it("deletes one account when its lease is revoked", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const [first, second] = [await account("reader", token), await account("reader", token)];
    const body = { lease_id: first.body.lease_id };
    expect((await call("POST", "sys/leases/revoke", { token: root, body })).status).toBe(204);
    expect(await accounts.get(first.body.data?.name ?? "")).toBeNull();
    expect(await accounts.get(second.body.data?.name ?? "")).not.toBeNull();
    holdSweeps();
  });
});
