import { beforeAll, describe, expect, it } from "vitest";
import { AppRoleAuth } from "../../../src/methods/approle/app-role-auth.ts";
import { AppRoleSecretIds } from "../../../src/methods/approle/app-role-secret-ids.ts";
import { JwtAuth, jwtAuthAt } from "../../../src/methods/jwt/jwt-auth.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { mountAppRole } from "../../support/app-role.ts";
import { atCalls, callsTo, failing } from "../../support/calls.ts";
import { DocumentSigner } from "../../support/cloud-login.ts";
import { ISSUER, newIssuer } from "../../support/issuer.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";

let root: string;
let approle: Awaited<ReturnType<typeof mountAppRole>>;

beforeAll(async () => {
  root = await initialized();
  approle = await mountAppRole(root, "approle");
  await approle.role("deploy");
  await approle.role("other");
});

const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
const find = async (token: string) =>
  dataOf<Record<string, unknown> & { readonly roles?: object }>(await post("sys/tokens/find", { token }));

describe("sys/tokens/find says of a secret-id", () => {
  it("of which mount and role it is, without counting a use, and nothing once it has ended", async () => {
    const made = await approle.secretId("deploy", { num_uses: 1, metadata: { job: "42" } });
    for (let times = 0; times < 2; times++)
      expect(await find(` ${made.secret_id}\n`)).toMatchObject({
        state: "live",
        kind: "secret-id",
        message: expect.stringContaining("secret-id of auth/approle/, role deploy, that is alive"),
        credential: {
          accessor: made.secret_id_accessor,
          path: "auth/approle/role/deploy",
          metadata: { job: "42" },
          created: expect.any(String),
        },
      });
    const roleId = dataOf<{ role_id: string }>(await approle.ask("GET", "role/deploy/role-id")).role_id;
    expect((await approle.login(roleId, made.secret_id)).status).toBe(200);
    const message = expect.stringContaining("not kept after its end or destruction: the audit log has");
    expect(await find(made.secret_id)).toMatchObject({ state: "unknown", kind: "", message });
    expect((await find("no-secret-id")).message).not.toContain("secret-id has this form");
  });

  it("of a role-id, whether it logs in alone", async () => {
    const roleIdOf = async (role: string) =>
      dataOf<{ role_id: string }>(await approle.ask("GET", `role/${role}/role-id`)).role_id;
    await approle.role("open", { bind_secret_id: false, token_bound_cidrs: ["10.0.0.0/8"] });
    const [path, kind] = ["auth/approle/", "role-id"];
    expect(await find(await roleIdOf("open"))).toMatchObject({
      ...{ state: "live", kind, mounts: [path], roles: { [path]: ["open"] } },
      message: expect.stringContaining(
        "need no secret-id: anyone who has the text can log in, from an address in 10.0.0.0/8, and from nowhere else.",
      ),
    });
    expect(await find(await roleIdOf("deploy"))).toMatchObject({
      ...{ state: "unknown", kind, message: expect.stringContaining("no secret by itself") },
    });
    // Where not all secret-ids were asked, the text may be one.
    const some = atCalls(AppRoleAuth, "rolesWithSecretIds", ({ proceed }) => proceed(1));
    expect(await find(await roleIdOf("deploy"))).toMatchObject({ state: "unjudged", kind: "" });
    expect(await find(await roleIdOf("open"))).toMatchObject({ state: "live", kind });
    some.end();
  });

  it("from which networks it can be used, by its own lists and those of its role", async () => {
    await approle.role("bound", { secret_id_bound_cidrs: ["10.0.0.0/8"], token_bound_cidrs: ["10.1.0.0/16"] });
    const made = await approle.secretId("bound", { cidr_list: ["10.1.2.0/24", "10.1.3.0/24"] });
    expect((await find(made.secret_id)).message).toMatch(
      /the text can log in, from an address in 10\.0\.0\.0\/8 and in 10\.1\.2\.0\/24 or 10\.1\.3\.0\/24 and in 10\.1\.0\.0\/16, and from nowhere else\.$/,
    );
    const other = await approle.secretId("deploy", { token_bound_cidrs: ["192.0.2.0/24"] });
    expect((await find(other.secret_id)).message).toContain("from an address in 192.0.2.0/24, and from nowhere else.");
  });

  it("the same of one that was chosen, with white space in it too", async () => {
    await approle.ask("POST", "role/other/custom-secret-id", { secret_id: "a chosen one" });
    expect(await find("a chosen one")).toMatchObject({
      state: "live",
      credential: { path: "auth/approle/role/other" },
    });
  });

  it("that it was not judged where an object of the last release can't tell", async () => {
    const { secret_id: text } = await approle.secretId("deploy");
    const error = new TypeError('The RPC receiver does not implement the method "x".');
    for (const fail of [
      () => failing(AppRoleAuth, "rolesWithSecretIds", error),
      () => failing(AppRoleSecretIds, "findOfRoles", error),
    ]) {
      const fault = fail();
      expect(await find(text)).toMatchObject({
        state: "unjudged",
        message: expect.stringContaining("auth/approle/role/NAME/secret-id/lookup"),
      });
      fault.end();
    }
  });

  it("that it was not judged where it is of none of the roles that it is looked for in", async () => {
    const some = atCalls(AppRoleAuth, "rolesWithSecretIds", ({ proceed }) => proceed(1));
    expect(await find("a chosen one")).toMatchObject({
      state: "unjudged",
      message: expect.stringContaining("auth/approle/role/NAME/secret-id/lookup"),
    });
    some.end();
  });

  it("that it was not judged while its mount does not answer", async () => {
    const all = failing(AppRoleAuth, "rolesWithSecretIds", new Error("Network connection lost."));
    expect(await find("0b4f2f5e-7f0b-4b9a-9d56-000000000001")).toMatchObject({
      state: "unjudged",
      message: expect.stringContaining("auth/approle/ again, which does not answer now"),
    });
    all.end();
  });

  it("asks each shard once, however many roles there are, and none about a token", async () => {
    const calls = callsTo(AppRoleSecretIds, "findOfRoles");
    for (let number = 0; number < 40; number++) await approle.role(`r${number}`);
    await find("0b4f2f5e-7f0b-4b9a-9d56-000000000000");
    expect(calls.calls.length).toBeLessThanOrEqual(16);
    expect(calls.calls.flatMap(({ args: [places] }) => places)).toHaveLength(43);
    const asked = calls.calls.length;
    await find(root);
    expect(calls.calls).toHaveLength(asked);
    calls.end();
  });
});

describe("sys/tokens/find says of a JWT", () => {
  it("whose it is, which mounts trust it and until when, and that it was not verified", async () => {
    const issuer = await newIssuer("ES256");
    const jwt = await issuer.sign({});
    expect(await find(jwt)).toMatchObject({ state: "elsewhere", kind: "jwt" });
    for (const [path, bound] of [
      ["jwt", ISSUER],
      ["jwt-any", ""],
      ["jwt-other", "https://other.example"],
    ]) {
      await post(`sys/auth/${path}`, { type: "jwt" });
      await post(`auth/${path}/config`, { jwt_validation_pubkeys: issuer.pem, bound_issuer: bound });
    }
    const found = await find(jwt);
    expect(found).toMatchObject({ state: "unjudged", kind: "jwt" });
    expect(found.message).toMatch(
      /issuer https:\/\/issuer\.example\.com, .* auth\/jwt-any\/ \(no role takes its claims now\), auth\/jwt\/ \(no .*\); until 2\S+Z\./,
    );
    expect(found.message).toContain('subject (sub) "job", audience (aud) "grove", which these mounts trust');
    expect(found.message).toContain("not verified");
    const ended = await issuer.sign({ exp: Math.floor(Date.now() / 1000) - 90_000 });
    expect(await find(ended)).toMatchObject({
      state: "ended",
      kind: "jwt",
      mounts: ["auth/jwt-any/", "auth/jwt/"],
      message: expect.stringContaining(
        "No role of the mounts that trust it (auth/jwt-any/, auth/jwt/) takes one so late",
      ),
    });
    await post("auth/jwt/role/late", { user_claim: "sub", bound_audiences: "grove", clock_skew_leeway: "48h" });
    expect(await find(ended)).toMatchObject({
      state: "unjudged",
      message: expect.stringContaining("a role may take it for longer by its clock_skew_leeway"),
      roles: { "auth/jwt-any/": [], "auth/jwt/": ["late"] },
    });
    const long = await issuer.sign({ exp: Math.floor(Date.now() / 1000) - 90_000 - 48 * 3_600 });
    expect(await find(long)).toMatchObject({ state: "ended" });
    const old = failing(JwtAuth, "judgeClaims", new TypeError('The RPC receiver does not implement the method "x".'));
    expect(await find(long)).toMatchObject({ state: "unjudged", roles: {} });
    old.end();
    const late = await issuer.sign({ exp: Math.floor(Date.now() / 1000) - 600 });
    expect(await find(late)).toMatchObject({ state: "unjudged", roles: { "auth/jwt/": ["late"] } });
    // Whose logins they are.
    expect(await find(late)).not.toHaveProperty("entities");
    const { id } = dataOf<{ id: string }>(
      await call("POST", "identity/entity", { token: root, body: { name: "runner" } }),
    );
    const mounts = dataOf<Record<string, { accessor: string }>>(await call("GET", "sys/auth", { token: root }));
    const alias = { name: "job", canonical_id: id, mount_accessor: mounts["jwt/"]?.accessor };
    await post("identity/entity-alias", alias);
    expect(await find(late)).toMatchObject({
      entities: [{ id, name: "runner", disabled: false, alias: "job", mount: "auth/jwt/" }],
    });
    await call("DELETE", "auth/jwt/role/late", { token: root });
    expect(await find(late)).toMatchObject({
      state: "ended",
      message: expect.stringMatching(/that is expired since 2\S+Z, as it says itself\. No role/),
    });
    // A mount that does not answer may take it for longer.
    let silent: string | null = null;
    const down = atCalls(JwtAuth, "readConfig", ({ id, proceed }) => {
      silent ??= id;
      if (id === silent) throw new Error("Network connection lost.");
      return proceed();
    });
    expect(await find(late)).toMatchObject({ state: "unjudged", kind: "jwt" });
    down.end();
    await call("DELETE", "sys/auth/jwt-any", { token: root });
  });

  it("that it is none, when its claims are nested more deeply than a call could pass on", async () => {
    await post("sys/auth/jwt-deep", { type: "jwt" });
    const { pem, sign } = await newIssuer("ES256");
    await post("auth/jwt-deep/config", { jwt_validation_pubkeys: pem });
    const [header] = (await sign({})).split(".");
    const claims = Buffer.from(`{"x":${"[".repeat(5900)}${"]".repeat(5900)}}`).toString("base64url");
    expect(await find(`${header}.${claims}.x`)).toMatchObject({ state: "elsewhere", kind: "jwt" });
    await call("DELETE", "sys/auth/jwt-deep", { token: root });
  });

  it("which roles take its claims now, and no login through a browser", async () => {
    const issuer = await newIssuer("ES256");
    await post("sys/auth/jwt-roles", { type: "jwt" });
    const iss = "https://roles.example";
    await post("auth/jwt-roles/config", { jwt_validation_pubkeys: issuer.pem, bound_issuer: iss });
    const found = async (claims: object) => find(await issuer.sign({ iss, ...claims }));
    const role = async (name: string, fields: object) => {
      const written = await post(`auth/jwt-roles/role/${name}`, { user_claim: "sub", ...fields });
      expect([name, written.status]).toEqual([name, 204]);
    };
    await role("other", { bound_audiences: "other" });
    expect(await found({})).toMatchObject({
      state: "unjudged",
      message: expect.stringContaining("trust: auth/jwt-roles/ (no role takes its claims now); until"),
      roles: { "auth/jwt-roles/": [] },
    });
    await role("bound", { bound_audiences: "grove", bound_subject: "somebody" });
    await role("ci", { role_type: "jwt", bound_audiences: "grove", bound_claims: { ref: "main" } });
    await role("any", { bound_audiences: "grove" });
    const browser = { role_type: "oidc", allowed_redirect_uris: "https://app.example/callback" };
    await role("browser", { bound_audiences: "grove", ...browser });
    // The token is one that the login of this role would get for the client of the server.
    const loaded = await loadInstallation(bindings);
    const mount = loaded.ok ? loaded.value.mounts.find(({ path }) => path === "jwt-roles/") : undefined;
    const object = jwtAuthAt(bindings, { uuid: mount?.uuid ?? "" });
    const config = await object.readConfig();
    expect(config && (await object.writeConfig({ ...config, clientId: "grove" }, "AAAA"))).toMatchObject({ ok: true });
    expect(await found({})).toMatchObject({ roles: { "auth/jwt-roles/": ["any"] } });
    expect(await found({ ref: "main" })).toMatchObject({
      message: expect.stringContaining("auth/jwt-roles/ (roles any, ci); until"),
      roles: { "auth/jwt-roles/": ["any", "ci"] },
    });
    for (let number = 0; number < 21; number++) await role(`r${100 + number}`, { bound_audiences: "grove" });
    const many = await found({});
    expect(many.message).toContain("(roles any, r100, r101, r102, r103 and others)");
    expect(Object.values(many.roles ?? {})).toEqual([expect.toSatisfy((names: string[]) => names.length === 20)]);
    expect(await found({ nbf: Math.floor(Date.now() / 1000) + 600 })).toMatchObject({
      state: "unjudged",
      roles: { "auth/jwt-roles/": [] },
    });
  });

  it("nothing of an end that is no time", async () => {
    const issuer = await newIssuer("ES256");
    await post("sys/auth/jwt-ends", { type: "jwt" });
    await post("auth/jwt-ends/config", { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
    // A date ends at 8.64e12 seconds.
    for (const exp of [8.7e12, 1e300, 0, -1]) {
      expect(await find(await issuer.sign({ exp }))).toMatchObject({
        state: "unjudged",
        kind: "jwt",
        message: expect.stringContaining("it does not say until when"),
      });
    }
  });

  it("that a mount of the kubernetes method may trust it, by which roles, and not after its end", async () => {
    const issuer = await newIssuer("ES256");
    const account = { namespace: "shop", serviceaccount: { name: "web", uid: "u-1" } };
    const iss = "https://kubernetes.default.svc";
    const jwt = await issuer.sign({ iss, "kubernetes.io": account });
    await post("sys/auth/kubernetes", { type: "kubernetes" });
    await post("auth/kubernetes/config", { kubernetes_host: "https://cluster.example" });
    const role = (name: string, names: string, namespaces: string, audience?: string) =>
      post(`auth/kubernetes/role/${name}`, {
        bound_service_account_names: names,
        bound_service_account_namespaces: namespaces,
        ...(audience && { audience }),
      });
    await role("web", "web", "sh*");
    await role("db", "db", "shop");
    await role("elsewhere", "web", "other");
    await role("other", "web", "shop", "other");
    expect(await find(jwt)).toMatchObject({
      state: "unjudged",
      message: expect.stringContaining("auth/kubernetes/ (role web)"),
      roles: { "auth/kubernetes/": ["web"] },
    });
    const ended = await issuer.sign({ iss, "kubernetes.io": account, exp: Math.floor(Date.now() / 1000) - 90 });
    expect(await find(ended)).toMatchObject({ state: "ended", message: expect.stringContaining("expired since") });
    const within = await issuer.sign({ iss, "kubernetes.io": account, exp: Math.floor(Date.now() / 1000) - 30 });
    expect(await find(within)).toMatchObject({ state: "unjudged", roles: { "auth/kubernetes/": ["web"] } });
  });
});

describe("sys/tokens/find says of an instance's identity document", () => {
  const document = {
    ...{ accountId: "123456789012", imageId: "ami-1", instanceId: "i-0c5541936caf78c12", region: "eu-west-1" },
    pendingTime: "2026-11-01T10:00:00Z",
  };
  const { identity, pkcs7 } = new DocumentSigner().sign(document);
  const wrapped = pkcs7.match(/.{1,64}/g)?.join("\n") ?? "";

  it("that no mount takes it, while none is of its cloud", async () => {
    for (const text of [pkcs7, wrapped, identity, JSON.stringify(document)]) {
      const found = await find(text);
      expect(found).toMatchObject({
        state: "elsewhere",
        kind: "identity-document",
        message: expect.stringMatching(/^An identity document of the instance i-0c55\S+ of .* no mount that takes one/),
      });
      expect(found).not.toHaveProperty("mounts");
    }
  });

  it("of which instance it is, and at which mounts it logs in, whole or without its signature", async () => {
    await post("sys/auth/aws", { type: "aws" });
    const of = "of the instance i-0c5541936caf78c12 of the account 123456789012 in eu-west-1";
    const found = { state: "unjudged", kind: "identity-document", mounts: ["auth/aws/"] };
    for (const text of [pkcs7, wrapped])
      expect(await find(text)).toMatchObject({
        ...found,
        message: expect.stringContaining(`A signed identity document ${of}, which logs in at auth/aws/ `),
      });
    for (const text of [identity, JSON.stringify(document)])
      expect(await find(text)).toMatchObject({
        ...found,
        message: expect.stringContaining(`An identity document ${of}. Together with its signature`),
      });
    expect(await find(pkcs7.slice(0, -8))).toMatchObject({ state: "unknown" });
    expect(await find('{"accountId": "123456789012"}')).toMatchObject({ state: "unknown" });
  });
});
