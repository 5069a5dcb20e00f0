import { beforeAll, describe, expect, it, vi } from "vitest";
import { issueLogin } from "../../../src/auth/issue-login.ts";
import type { LoginRenewal } from "../../../src/auth/kinds.ts";
import { ok } from "../../../src/base/result.ts";
import { CLOUD_METHOD } from "../../../src/methods/aws/method.ts";
import { type Installation, loadInstallation } from "../../../src/system/installation.ts";
import type { Mount } from "../../../src/system/mount.ts";
import type { Login } from "../../../src/token/rules/login.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { callsTo } from "../../support/calls.ts";
import { PLAIN_LOGIN } from "../../support/plain-login.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { listedAccessors } from "../../support/tidy.ts";
import { rewriteRecord } from "../../support/trees.ts";

const LOGIN: Login = {
  ...PLAIN_LOGIN,
  policies: ["dev"],
  ttl: 600,
  displayName: "i-1",
  metadata: { role: "dev" },
  internal: { role_name: "dev", secret_note: "kept" },
};

let root: string;

beforeAll(async () => {
  root = await initialized();
});

async function enable(path: string, config: Record<string, unknown> = {}): Promise<Mount> {
  await call("POST", `sys/auth/${path}`, { token: root, body: { type: "cloud", config } });
  const mount = (await installation()).mountAt(`${path}/`);
  if (!mount) throw new Error("the mount is there");
  return mount;
}

async function installation(): Promise<Installation> {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error("the service is initialised");
  return loaded.value;
}

async function login(mount: Mount, changes: Partial<Login> = {}) {
  return issueLogin(bindings, await installation(), mount, { ...LOGIN, ...changes });
}

async function tokenOf(mount: Mount, changes: Partial<Login> = {}) {
  const issued = await login(mount, changes);
  if (!issued.ok) throw new Error(JSON.stringify(issued.error));
  return issued.value.auth.clientToken;
}

describe("a login", () => {
  it("gives an orphan of its own tree that shows nothing of the method's private data", async () => {
    const mount = await enable("one/cloud");
    const token = await tokenOf(mount);
    const seen = await call("GET", "auth/token/lookup-self", { token });
    expect(seen.body.data).toMatchObject({
      path: "auth/one/cloud/login",
      display_name: "one-cloud-i-1",
      meta: { role: "dev" },
      orphan: true,
      policies: ["default", "dev"],
      renewable: true,
      type: "service",
    });
    expect(JSON.stringify(seen.body)).not.toContain("kept");
  });

  it("gives what the mount is tuned to", async () => {
    const mount = await enable("two", { token_type: "batch", max_lease_ttl: "100s" });
    const token = await tokenOf(mount);
    expect(token).toMatch(/^b\./);
    expect((await call("GET", "auth/token/lookup-self", { token })).body.data).toMatchObject({ creation_ttl: 100 });
  });

  it("that is refused leaves no token behind (CVE-2026-46405)", async () => {
    const mount = await enable("refusing");
    const create = callsTo(TokenTree, "create");
    const listed = await listedAccessors();
    for (const changes of [{ policies: ["root"] }, { tokenType: "batch", numUses: 1 }] as const) {
      expect(await login(mount, changes)).toMatchObject({ ok: false, error: { code: "invalid_request" } });
    }
    expect(create.calls).toEqual([]);
    expect(await listedAccessors()).toEqual(listed);
  });

  it("refuses metadata that is too large", async () => {
    const mount = await enable("three");
    expect(await login(mount, { metadata: { x: "y".repeat(70_000) } })).toMatchObject({
      error: { message: "the metadata of the login is too large" },
    });
  });
});

describe("renewal of a login's token", () => {
  const renewal = () => vi.spyOn(CLOUD_METHOD, "renew");

  it("asks the method with what it kept, and takes today's terms under the mount's maximum", async () => {
    const mount = await enable("renewed", { max_lease_ttl: "1000s" });
    const token = await tokenOf(mount);
    const asked: LoginRenewal[] = [];
    renewal().mockImplementation(async (renewal) => {
      asked.push(renewal);
      return ok({ period: 0, explicitMaxTtl: 0, ttl: 50, maxTtl: 0 });
    });
    const renewed = await call("POST", "auth/token/renew-self", { token });
    expect(renewed.body.auth).toMatchObject({ client_token: token, lease_duration: 50 });
    expect(asked[0]).toMatchObject({ internal: LOGIN.internal, mount: { path: "renewed/" } });
    const longer = await call("POST", "auth/token/renew", { token: root, body: { token, increment: "1h" } });
    expect(Number(longer.body.auth.lease_duration)).toBeLessThanOrEqual(1000);
    const { accessor } = (await call("GET", "auth/token/lookup-self", { token })).body.data;
    expect((await call("POST", "auth/token/renew-accessor", { token: root, body: { accessor } })).status).toBe(200);
  });

  it("is refused when the method refuses", async () => {
    const token = await tokenOf(await enable("refused"));
    renewal().mockImplementation(async () => ({ ok: false, error: { code: "invalid_request", message: "gone" } }));
    expect(await call("POST", "auth/token/renew-self", { token })).toMatchObject({
      status: 400,
      body: { errors: ["gone"] },
    });
  });

  it("is refused while another mount stands at the path of the one that issued the token", async () => {
    const token = await tokenOf(await enable("twice"));
    await rewriteRecord(token, (record) => ({ ...record, login: { mount: crypto.randomUUID(), internal: {} } }));
    renewal().mockImplementation(async () => ok({ period: 0, explicitMaxTtl: 0, ttl: 50, maxTtl: 0 }));
    expect((await call("POST", "auth/token/renew-self", { token })).body.errors).toEqual([
      "the auth method that issued this token is disabled",
    ]);
  });

  it("leaves the children of the token to the token method", async () => {
    const token = await tokenOf(await enable("parents"), { policies: ["maker"] });
    await call("POST", "sys/policies/acl/maker", {
      token: root,
      body: { policy: 'path "auth/token/create" { capabilities = ["update"] }' },
    });
    const child = await createToken(token, { ttl: "60s" });
    const renewed = await call("POST", "auth/token/renew-self", { token: child.client_token });
    expect(renewed.body.auth).toMatchObject({ lease_duration: 60 });
  });
});

describe("a mount that no longer issues tokens", () => {
  it("refuses the logins that it was asked for before, and what it issued, at once", async () => {
    const mount = await enable("closing");
    const before = await tokenOf(mount, { policies: ["maker"] });
    const child = await createToken(before, { ttl: "60s" });
    expect((await call("DELETE", "sys/auth/closing", { token: root })).status).toBe(204);
    for (const token of [before, child.client_token]) {
      expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
    }
    expect(await login(mount)).toEqual({ ok: false, error: { code: "permission_denied" } });
    expect(await login(mount, { tokenType: "batch" })).toEqual({ ok: false, error: { code: "permission_denied" } });
    const again = await enable("closing");
    expect(again.uuid).not.toBe(mount.uuid);
    expect((await login(again)).ok).toBe(true);
    expect(await login(mount)).toEqual({ ok: false, error: { code: "permission_denied" } });
  });
});
