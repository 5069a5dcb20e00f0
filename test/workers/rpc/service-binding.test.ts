import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, exampleBindings, initialized } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

/** What the example Worker is bound to in this test. */
const { SECRET_ENGINE_SITE: engine, ACCOUNTS: accounts } = exampleBindings;

let root: string;

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/accounts", {
    token: root,
    body: { policy: 'path "accounts/reader" { capabilities = ["read"] }' },
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

  it("refuses what they do not, and every token that is no good", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const refused = { status: 403, body: { errors: ["permission denied"] } };
    expect(await account("writer", token)).toEqual(refused);
    for (const bad of [undefined, "", "s.forged", `${token}x`]) expect(await account("reader", bad)).toEqual(refused);
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    expect(await account("reader", token)).toEqual(refused);
  });

  it("takes back what it handed out when the token ends", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const { stub } = await locate(token);
    const { body } = await account("reader", token);
    const name = body.data?.name ?? "";
    expect(await accounts.get(name)).not.toBeNull();
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    for (let i = 0; i < 10 && (await accounts.get(name)) !== null; i++) await runDurableObjectAlarm(stub);
    expect(await accounts.get(name)).toBeNull();
  });

  it("takes back one account when its lease is revoked", async () => {
    const { client_token: token } = await createToken(root, { policies: ["accounts"] });
    const [first, second] = [await account("reader", token), await account("reader", token)];
    const body = { lease_id: first.body.lease_id };
    expect((await call("POST", "sys/leases/revoke", { token: root, body })).status).toBe(204);
    expect(await accounts.get(first.body.data?.name ?? "")).toBeNull();
    expect(await accounts.get(second.body.data?.name ?? "")).not.toBeNull();
    holdSweeps();
  });
});
