import { beforeAll, describe, expect, it, vi } from "vitest";
import { JwtAuth, jwtAuthAt } from "../../../src/methods/jwt/jwt-auth.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import type { AuditLine } from "../../../src/wire/audit.ts";
import { failing } from "../../support/calls.ts";
import { DocumentSigner, documentOf } from "../../support/cloud-login.ts";
import { HOME, mountCloud, OTHER } from "../../support/cloud-mount.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { userArn } from "../../support/fake-cloud/world.ts";
import { ISSUER, type Issuer, newIssuer } from "../../support/issuer.ts";
import { Meter } from "../../support/meter.ts";
import { crash } from "../../support/objects.ts";
import { madeIn, rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";

interface RefusedLogin {
  readonly role: string | null;
  readonly check: string;
  readonly description: string;
  readonly count: number;
  readonly first_time: string;
  readonly last_time: string;
  readonly last_address: string | null;
}

let root: string;
let issuer: Issuer;

beforeAll(async () => {
  root = await initialized();
  issuer = await newIssuer("ES256", "key-1");
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const refusedAt = async (mount: string) => {
  const answer = await call("GET", `auth/${mount}/explain/refused`, { token: root });
  return dataOf<{ refused: RefusedLogin[] }>(answer).refused;
};
const byCheck = (rows: readonly RefusedLogin[]) => rows.map(({ role, check, count }) => [role, check, count]).sort();

/** A mount of the JWT method with the role `ci`, and how to log in there. */
async function mountJwt(path: string) {
  await post(`sys/auth/${path}`, { type: "jwt" });
  await post(`auth/${path}/config`, { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
  await post(`auth/${path}/role/ci`, { user_claim: "sub", bound_audiences: "grove", bound_claims: { env: "prod" } });
  const { uuid } = (await call("GET", `sys/auth/${path}`, { token: root })).body.data;
  return {
    object: () => jwtAuthAt(bindings, { uuid: String(uuid) }),
    login: async (claims: Record<string, unknown>, role = "ci", headers: Record<string, string> = {}) =>
      call("POST", `auth/${path}/login`, {
        body: { role, jwt: await issuer.sign({ env: "prod", ...claims }) },
        headers,
      }),
  };
}

describe("the refused logins of a mount", () => {
  it("of the JWT method are kept by role and failing check, with nothing of the token", async () => {
    const { login } = await mountJwt("jwt");
    expect(await refusedAt("jwt")).toEqual([]);
    await login({ aud: "other" });
    await login({ aud: "other" }, "CI", { "CF-Connecting-IP": "192.0.2.9" });
    await login({ env: "test" });
    await login({}, "no-such-role");
    expect((await login({})).status).toBe(200);
    const rows = await refusedAt("jwt");
    expect(byCheck(rows)).toEqual([
      [null, "role", 1],
      ["ci", "bound_audiences", 2],
      ["ci", "bound_claims.env", 1],
    ]);
    const audience = rows.find(({ check }) => check === "bound_audiences");
    expect(audience?.last_address).toBe("192.0.2.9");
    expect(audience?.description).toBe("No audience (aud) is one that the role is bound to.");
    expect(Date.parse(audience?.first_time ?? "")).toBeLessThanOrEqual(Date.parse(audience?.last_time ?? ""));
    expect(Object.keys(audience ?? {})).toEqual([
      ...["role", "check", "description", "count", "first_time", "last_time", "last_address"],
    ]);
    expect(JSON.stringify(rows)).not.toContain("no-such-role");
  });

  it("of the AWS method are kept for both kinds, in the vocabulary of the mount", async () => {
    const cloud = new FakeCloud();
    const signer = new DocumentSigner();
    replaceInternet(cloud);
    const mount = await mountCloud(root, "aws", cloud, signer, "aws");
    const ann = cloud.world.addUser(HOME, "ann");
    await mount.write("role/ann", { auth_type: "iam", bound_iam_principal_arn: userArn(ann) });
    await mount.write("role/web", { auth_type: "ec2", bound_ami_id: "ami-1" });
    await mount.write("role/any", { auth_type: "ec2", bound_account_id: [HOME, OTHER] });
    const bob = cloud.world.addKey(cloud.world.addUser(HOME, "bob"));
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const { pkcs7 } = signer.sign(documentOf(instance));
    await mount.loginCaller(bob, { role: "ann" });
    await mount.login({ role: "ann", pkcs7 });
    await mount.login({ role: "web", pkcs7 });
    await mount.login({ role: "web" });
    await mount.login({ role: "any", pkcs7, nonce: "one" });
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    await mount.login({ role: "any", pkcs7, nonce: "two" });
    expect(log.mock.calls.join()).toContain('"check":{"name":"access_list",');
    await mount.login({ role: "web", pkcs7 });
    expect(log.mock.calls.join()).toContain('"check":{"name":"bound_ami_id",');
    log.mockRestore();
    expect(byCheck(await refusedAt("aws"))).toEqual([
      [null, "request", 1],
      ["ann", "auth_type", 1],
      ["ann", "principal", 1],
      ["any", "access_list", 1],
      ["web", "bound_ami_id", 2],
    ]);
    vi.unstubAllGlobals();
  });

  it("have the failed check in their audit lines, each of them", async () => {
    const { login } = await mountJwt("audited");
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const checks = () =>
      log.mock.calls.flatMap(([text]) => {
        const { type, path, check = null } = JSON.parse(String(text)) as AuditLine;
        return type === "response" && path === "auth/audited/login" ? [check] : [];
      });
    await login({ env: "test" });
    await login({ env: "test" });
    await login({ exp: 1 });
    await login({}, "no-such-role");
    await login({});
    expect(checks().map((check) => check?.name)).toEqual([
      ...["bound_claims.env", "bound_claims.env", "times", "role", undefined],
    ]);
    const long = "x".repeat(300);
    await post("auth/audited/role/long", {
      user_claim: "sub",
      bound_audiences: "grove",
      bound_claims: { [long]: "a" },
    });
    await login({}, "long");
    const last = checks().at(-1);
    expect([last?.name.length, last?.description.length]).toEqual([128, 256]);
    vi.restoreAllMocks();
  });

  it("are there after the object and the isolate have ended", async () => {
    const { login, object } = await mountJwt("lasting");
    await login({ env: "test" });
    await refusedAt("lasting");
    await crash(object());
    expect(byCheck(await refusedAt("lasting"))).toEqual([["ci", "bound_claims.env", 1]]);
  });

  it("are told again when their object did not answer", async () => {
    const { login } = await mountJwt("unreached");
    const away = failing(JwtAuth, "addRefusals");
    await login({ env: "test" });
    expect(await refusedAt("unreached")).toEqual([]);
    away.end();
    await login({ env: "test" });
    expect(byCheck(await refusedAt("unreached"))).toEqual([["ci", "bound_claims.env", 2]]);
  });

  it("cost one call and one row, however many they are", async () => {
    const { login, object } = await mountJwt("flooded");
    const meter = new Meter();
    for (let at = 0; at < 60; at++) await login(at % 2 ? { env: `${at}` } : {}, at % 2 ? "ci" : `guess-${at}`);
    // What waits for a timer is counted when it is read.
    const rows = await refusedAt("flooded");
    const { "JwtAuth.addRefusals": cost } = await meter.costs();
    meter.stop();
    expect(byCheck(rows)).toEqual([
      [null, "role", 30],
      ["ci", "bound_claims.env", 30],
    ]);
    expect(cost?.times).toBeLessThanOrEqual(3);
    expect(cost?.rowsWritten).toBe(1);
    const stored = (await rowsOf(object(), "settings")).map(({ name }) => name);
    expect(stored).toEqual(["config", "refused logins"]);
  });

  it("of isolates that report at the same time are all kept", async () => {
    const { login, object } = await mountJwt("twice");
    await login({ env: "test" });
    await refusedAt("twice");
    const [refusal] = await object().refusals();
    if (!refusal) throw new Error("the refusal is missing");
    // The reports wait for the keys, and go on in the same moment.
    forgetInstallation();
    const checks = ["one", "two", "three"];
    await Promise.all(checks.map((check) => object().addRefusals([{ ...refusal, check }])));
    expect((await object().refusals()).map(({ check }) => check)).toEqual(expect.arrayContaining(checks));
  });

  it("are not written where nothing is configured, and go with their mount", async () => {
    await post("sys/auth/bare", { type: "jwt" });
    await call("POST", "auth/bare/login", { body: { role: "ci", jwt: "x" } });
    expect(await refusedAt("bare")).toEqual([]);
    const { login, object } = await mountJwt("gone");
    await login({ env: "test" });
    await refusedAt("gone");
    const left = await object().refusals();
    expect(left).toHaveLength(1);
    await object().erase();
    // A report that was on its way.
    await object().addRefusals(left);
    expect(await object().refusals()).toEqual([]);
    expect(await madeIn(object())).not.toContain("settings");
  });

  it("are for those whose policies let them read the path", async () => {
    await mountJwt("closed");
    await post("sys/policies/acl/looks", { policy: 'path "auth/closed/explain/refused" { capabilities = ["read"] }' });
    const statusFor = async (policies: string[]) => {
      const { client_token: token } = await createToken(root, { policies });
      return (await call("GET", "auth/closed/explain/refused", { token })).status;
    };
    expect([await statusFor(["default"]), await statusFor(["looks"])]).toEqual([403, 200]);
    expect((await call("GET", "auth/closed/explain/refused")).status).toBe(403);
  });
});
