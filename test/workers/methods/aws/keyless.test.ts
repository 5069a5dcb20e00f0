import { runDurableObjectAlarm } from "cloudflare:test";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { oidcIssuerOf } from "../../../../src/issuer/oidc-issuer.ts";
import { forgetPublishedKeys } from "../../../../src/issuer/published-keys.ts";
import { DocumentSigner, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { bindings, call, initialized } from "../../../support/service.ts";

const ORIGIN = "https://grove.example.com";
const ISSUER = `${ORIGIN}/v1/identity/oidc/plugins`;
const AUDIENCE = "sts.amazonaws.com";

const cloud = new FakeCloud(() => Date.now());
const signer = new DocumentSigner();
let root: string;
let grove: Role;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  // The cloud reads the issuer's documents over the internet; here it reads them from the Worker of this test.
  cloud.fetchDocument = async (url) => {
    if (!url.startsWith(`${ORIGIN}/v1/`)) throw new Error("not the issuer's");
    forgetPublishedKeys();
    const answer = await call("GET", url.slice(`${ORIGIN}/v1/`.length));
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    return answer.body;
  };
  cloud.world.identityProviders.push({ accountId: HOME, url: ISSUER, audiences: [AUDIENCE] });
  grove = cloud.world.addRole(HOME, "Grove");
});

afterEach(() => vi.useRealTimers());

const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
const callsSince = (from: number) => cloud.calls.slice(from).map(({ action }) => action);

/** A mount without any key, whose role trusts it. */
async function keyless(path: string): Promise<CloudMount> {
  await post("identity/oidc/config", { issuer: ORIGIN });
  const mount = await mountCloud(root, path, cloud, signer);
  await call("DELETE", `auth/${path}/config/client`, { token: root });
  const { accessor } = (await call("GET", `sys/auth/${path}`, { token: root })).body.data;
  grove.webIdentity = { issuer: ISSUER, audience: AUDIENCE, subject: `plugin-identity:root:auth:${accessor}` };
  await mount.write("config/client", { role_arn: roleArn(grove), identity_token_audience: AUDIENCE });
  await mount.write("role/any", { auth_type: "vm", bound_vpc_id: "vpc-1" });
  return mount;
}

const loginOf = async (mount: CloudMount, account = HOME) =>
  mount.loginInstance(cloud.world.addInstance(account, "eu-west-1"), { role: "any" });

describe("a mount without a stored key", () => {
  it("looks up instances by a role that it assumes once, with a token that the cloud verifies", async () => {
    const mount = await keyless("vm");
    const from = cloud.calls.length;
    for (let i = 0; i < 2; i++) expect((await loginOf(mount)).status).toBe(200);
    expect(callsSince(from)).toEqual(["AssumeRoleWithWebIdentity", "DescribeInstances", "DescribeInstances"]);
  });

  it("logs in principals, and looks up what it must know of them", async () => {
    const mount = await keyless("iam");
    const role = cloud.world.addRole(HOME, "ci", { path: "/jobs/" });
    await mount.write("role/ci", { bound_iam_principal_arn: roleArn(role) });
    const session = cloud.world.addSession(role, "job", Date.now() + 3_600_000);
    const login = await mount.login({ role: "ci", ...(await signCaller(session)) });
    expect([login.status, login.body.errors]).toEqual([200, undefined]);
  });

  it("continues from its role to the roles of other accounts", async () => {
    const mount = await keyless("satellite");
    const gate = cloud.world.addRole(OTHER, "KeylessGate", { trusts: [HOME] });
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    const from = cloud.calls.length;
    expect((await loginOf(mount, OTHER)).status).toBe(200);
    expect(callsSince(from)).toEqual(["AssumeRoleWithWebIdentity", "AssumeRole", "DescribeInstances"]);
  });

  it("is not served by its role for another account", async () => {
    const mount = await keyless("elsewhere");
    expect(refusalOf(await loginOf(mount, OTHER))).toEqual([
      400,
      `failed to verify instance ID: no STS configuration found for account ID "${OTHER}"`,
    ]);
  });

  it("assumes the role again before its session ends", async () => {
    const mount = await keyless("renewing");
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    expect((await loginOf(mount)).status).toBe(200);
    vi.setSystemTime(now + 54 * 60_000);
    let from = cloud.calls.length;
    expect((await loginOf(mount)).status).toBe(200);
    expect(callsSince(from)).toEqual(["DescribeInstances"]);
    vi.setSystemTime(now + 56 * 60_000);
    from = cloud.calls.length;
    expect((await loginOf(mount)).status).toBe(200);
    expect(callsSince(from)).toEqual(["AssumeRoleWithWebIdentity", "DescribeInstances"]);
  });

  it("gets a new session, once, when the cloud has ended it early", async () => {
    const mount = await keyless("ended");
    expect((await loginOf(mount)).status).toBe(200);
    const key = cloud.world.keys.findLast((one) => "role" in one.holder && one.holder.role === grove);
    cloud.world.deleteKey(key?.id ?? "");
    const from = cloud.calls.length;
    expect((await loginOf(mount)).status).toBe(200);
    expect(callsSince(from)).toEqual(["DescribeInstances", "AssumeRoleWithWebIdentity", "DescribeInstances"]);
  });

  it("sends the cloud a token that ends before its public key is withdrawn", async () => {
    const mount = await keyless("bounded");
    const key = { rotation_period: "1m", verification_ttl: "2m", allowed_client_ids: "*" };
    await post("identity/oidc/key/brief", key);
    await mount.write("config/client", { identity_token_key: "brief", identity_token_ttl: "1h" });
    expect((await loginOf(mount)).status).toBe(200);
    const [sent] = cloud.callsOf("AssumeRoleWithWebIdentity").slice(-1);
    const { iat = 0, exp = 0 } = decodeJwt(sent?.form.get("WebIdentityToken") ?? "");
    expect(exp - iat).toBe(120);
  });

  it("has no key to rotate", async () => {
    await keyless("rotating");
    const answer = await post("auth/rotating/config/rotate-root", {});
    expect([answer.status, answer.body.errors]).toEqual([400, [expect.stringContaining("there is no key to rotate")]]);
  });

  it("loses no login while the issuer's key is rotated again and again", async () => {
    const mount = await keyless("rotated");
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    for (let day = 1; day <= 4; day++) {
      vi.setSystemTime(now + day * 86_400_000 + 1000);
      const [first] = await Promise.all([loginOf(mount), runDurableObjectAlarm(oidcIssuerOf(bindings))]);
      expect([first.status, (await loginOf(mount)).status]).toEqual([200, 200]);
    }
  });
});

describe("the cloud refuses a token", () => {
  /** The answer to a login after the change. */
  async function afterwards(path: string, change: (mount: CloudMount) => unknown) {
    const mount = await keyless(path);
    await change(mount);
    const answer = await loginOf(mount);
    return [answer.status, String(answer.body.errors)];
  }

  it("for another audience than the account has registered", async () => {
    const refused = await afterwards("audience", (mount) =>
      mount.write("config/client", { identity_token_audience: "elsewhere" }),
    );
    expect(refused).toEqual([400, expect.stringMatching(/error assuming role_arn.*InvalidIdentityToken/)]);
  });

  it("of another mount than the role trusts", async () => {
    const refused = await afterwards("subject", () => {
      grove.webIdentity = { issuer: ISSUER, audience: AUDIENCE, subject: "plugin-identity:root:auth:another" };
    });
    expect(refused).toEqual([400, expect.stringMatching(/error assuming role_arn.*AccessDenied/)]);
  });

  it("that has expired", async () => {
    const mount = await keyless("expired");
    const late = new FakeCloud(() => Date.now() + 2 * 3_600_000);
    const signed = cloud.callsOf("AssumeRoleWithWebIdentity").at(-1);
    expect((await loginOf(mount)).status).toBe(200);
    const token = cloud.callsOf("AssumeRoleWithWebIdentity").at(-1)?.form;
    expect(token).not.toBe(signed?.form);
    late.world.identityProviders.push(...cloud.world.identityProviders);
    late.world.roles.push(grove);
    late.fetchDocument = cloud.fetchDocument;
    const request = { method: "POST", target: "/", headers: {}, body: token?.toString() ?? "" };
    expect(await late.react(request, "sts.amazonaws.com")).toMatchObject({
      reply: { status: 400, body: expect.stringContaining("ExpiredTokenException") as unknown },
    });
  });

  it("that a user got for himself: it has another issuer", async () => {
    await keyless("user");
    await post("auth/token/roles/person", { allowed_entity_aliases: "*" });
    await post("identity/oidc/role/user", { key: "default", client_id: AUDIENCE });
    const made = await post("auth/token/create/person", { entity_alias: "user" });
    await post("sys/policies/acl/default", { policy: 'path "identity/oidc/token/user" { capabilities = ["read"] }' });
    const { client_token: token } = made.body.auth;
    const own = (await call("GET", "identity/oidc/token/user", { token })).body.data.token;
    const form = { Action: "AssumeRoleWithWebIdentity", RoleArn: roleArn(grove), RoleSessionName: "x" };
    const body = new URLSearchParams({ ...form, WebIdentityToken: own }).toString();
    const answer = await cloud.react({ method: "POST", target: "/", headers: {}, body }, "sts.amazonaws.com");
    expect(answer).toMatchObject({ reply: { status: 400 } });
  });

  it("while it can't reach the issuer, and takes it later", async () => {
    const mount = await keyless("unreachable");
    const { fetchDocument } = cloud;
    let failures = 2;
    cloud.fetchDocument = async (url) => {
      if (failures-- > 0) throw new Error("unreachable");
      return fetchDocument(url);
    };
    expect((await loginOf(mount)).status).toBe(200);
    cloud.fetchDocument = fetchDocument;
  });
});

describe("the configuration", () => {
  it("takes a role or a key, not both, and the role with its audience", async () => {
    const mount = await keyless("exclusive");
    const write = async (body: unknown) => {
      const answer = await post("auth/exclusive/config/client", body);
      return answer.body?.errors ?? answer.status;
    };
    const both = ["only one of 'access_key' or 'identity_token_audience' can be set"];
    expect(await write({ access_key: "AKIA1", secret_key: "x" })).toEqual(both);
    expect(await write({ role_arn: "" })).toEqual([
      "missing required 'role_arn' when 'identity_token_audience' is set",
    ]);
    expect(await write({ identity_token_audience: "" })).toEqual([
      "missing required 'identity_token_audience' when 'role_arn' is set",
    ]);
    expect(await write({ role_arn: "arn:aws:iam::1:user/x" })).toEqual(["role_arn is not the ARN of a role"]);
    expect(await write({ identity_token_ttl: "30s" })).toEqual([
      "identity_token_ttl must be between one minute and one day",
    ]);
    expect((await call("GET", "auth/exclusive/config/client", { token: root })).body.data).toMatchObject({
      access_key: "",
      role_arn: roleArn(grove),
      identity_token_audience: AUDIENCE,
      identity_token_ttl: 3600,
      identity_token_key: "default",
    });
    expect(await write({ role_arn: "", identity_token_audience: "", access_key: "AKIA1", secret_key: "x" })).toBe(204);
    const after = (await call("GET", "auth/exclusive/config/client", { token: root })).body.data;
    expect(after).not.toHaveProperty("role_arn");
    expect(await write({ role_arn: roleArn(grove), identity_token_audience: AUDIENCE })).toEqual(both);
    expect(mount).toBeDefined();
  });

  it("needs an issuer and a signing key, and says so", async () => {
    const mount = await keyless("issuerless");
    await mount.write("config/client", { identity_token_key: "absent" });
    expect(String((await loginOf(mount)).body.errors)).toContain(
      "the signing key of identity_token_key does not exist",
    );
    await mount.write("config/client", { identity_token_key: "default" });
    await post("identity/oidc/config", { issuer: "" });
    expect(String((await loginOf(mount)).body.errors)).toContain("identity tokens need an issuer");
  });
});
