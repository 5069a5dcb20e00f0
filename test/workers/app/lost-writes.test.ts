import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import type { CallAttempt } from "../../../src/base/lost-call-retry.ts";
import { Identity } from "../../../src/identity/directory/identity.ts";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { OidcIssuer } from "../../../src/issuer/oidc-issuer.ts";
import { LeaseWalk } from "../../../src/lease/prefix-revocation.ts";
import { AppRoleAuth } from "../../../src/methods/approle/app-role-auth.ts";
import { AppRoleSecretIds } from "../../../src/methods/approle/app-role-secret-ids.ts";
import { CloudAccessList } from "../../../src/methods/aws/mount/access-list.ts";
import { CloudAuth } from "../../../src/methods/aws/mount/cloud-auth.ts";
import { accessShardFor } from "../../../src/methods/aws/mount/mount-config.ts";
import type { InstanceLogin } from "../../../src/methods/aws/rules/reauthentication.ts";
import { JwtAuth } from "../../../src/methods/jwt/jwt-auth.ts";
import { KubernetesAuth } from "../../../src/methods/kubernetes/kubernetes-auth.ts";
import { RoleMount } from "../../../src/methods/role-mount.ts";
import { System } from "../../../src/system/system.ts";
import { Organization } from "../../../src/team/organization.ts";
import { OrganizationDirectory } from "../../../src/team/organization-directory.ts";
import { Team } from "../../../src/team/team.ts";
import { TokenRoles } from "../../../src/token/roles/token-roles.ts";
import { CustomIds } from "../../../src/tree/custom-ids.ts";
import aws from "../../conformance/aws.json";
import { type AppRoleMount, mountAppRole } from "../../support/app-role.ts";
import { atCalls, atNth, failing, holdAlarms } from "../../support/calls.ts";
import { mountRow } from "../../support/cloud.ts";
import { runAs } from "../../support/deployments.ts";
import { newIssuer } from "../../support/issuer.ts";
import { bindings, call, initialized, tokenUnder } from "../../support/service.ts";

import {
  api,
  createOrganization,
  describeToken,
  generateToken,
  idsOf,
  list,
  organizationWithTeam,
  resource,
  teamsOf,
} from "../../support/teams.ts";

const LOST = "Network connection lost.";
const WHEN = ["before", "after"] as const;
const PUBLIC_CERTIFICATE = aws.find(({ name }) => name === "certificate write")?.body?.aws_public_cert ?? "";

let root: string;
let roles: AppRoleMount;
let roleId: string;
let publicKey: string;

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const get = (path: string) => call("GET", path, { token: root });
const remove = (path: string) => call("DELETE", path, { token: root });

beforeAll(async () => {
  root = await initialized();
  roles = await mountAppRole(root, "approle");
  roleId = await roles.role("web", { token_ttl: "1h" });
  for (const type of ["aws", "jwt", "kubernetes"]) await post(`sys/auth/${type}`, { type });
  await post("sys/auth/tuned", { type: "approle" });
  publicKey = (await newIssuer("ES256", "key-1")).pem;
});

beforeEach(() => {
  runAs(CLUSTER);
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

/** Stands in for a method whose next call is lost, after it was carried out or before; then `meanwhile` happens. */
function losing(when: "before" | "after", meanwhile: () => unknown = () => {}) {
  return async <T>(proceed: () => Promise<T>): Promise<T> => {
    if (when === "after") await proceed();
    await meanwhile();
    throw new Error(LOST);
  };
}

describe("a secret-id in a cluster", () => {
  const lookUp = (secretId: string) => roles.ask("POST", "role/web/secret-id/lookup", { secret_id: secretId });
  const destroy = (secretId: string) => roles.ask("POST", "role/web/secret-id/destroy", { secret_id: secretId });
  const login = async (secretId: string) => (await roles.login(roleId, secretId)).status;

  it.each(WHEN)("is made once: its call is lost %s it was made", async (when) => {
    await roles.role(when);
    atNth(AppRoleSecretIds, "register", 1, losing(when));
    const { secret_id_accessor: accessor } = await roles.secretId(when);
    expect((await roles.ask("LIST", `role/${when}/secret-id`)).body.data.keys).toEqual([accessor]);
  });

  it("does not come back when it is destroyed before its making is repeated", async () => {
    const destroyed = async () => expect((await destroy("chosen")).status).toBe(204);
    atNth(AppRoleSecretIds, "register", 1, losing("after", destroyed));
    expect((await roles.ask("POST", "role/web/custom-secret-id", { secret_id: "chosen" })).status).toBe(200);
    expect((await lookUp("chosen")).status).toBe(204);
  });

  it("gets no use back when it is used before its making is repeated", async () => {
    const used = async () => expect(await login("used")).toBe(200);
    atNth(AppRoleSecretIds, "register", 1, losing("after", used));
    await roles.ask("POST", "role/web/custom-secret-id", { secret_id: "used", num_uses: 1 });
    expect(await login("used")).toBe(400);
  });

  it.each(WHEN)("counts one use: the call of a login is lost %s it was counted", async (when) => {
    const { secret_id: secretId } = await roles.secretId("web", { num_uses: 3 });
    atNth(AppRoleSecretIds, "use", 1, losing(when));
    expect(await login(secretId)).toBe(200);
    expect((await lookUp(secretId)).body.data.secret_id_num_uses).toBe(2);
  });

  it.each(WHEN)("counts its last use: the call of a login is lost %s it was counted", async (when) => {
    const { secret_id: secretId, secret_id_accessor: accessor } = await roles.secretId("web", {
      num_uses: 1,
      metadata: { of: "the secret-id" },
    });
    atNth(AppRoleSecretIds, "use", 1, losing(when));
    const { status, body } = await roles.login(roleId, secretId);
    expect([status, body.auth?.metadata]).toEqual([200, { of: "the secret-id", role_name: "web" }]);
    expect(await login(secretId)).toBe(400);
    expect((await lookUp(secretId)).status).toBe(204);
    const listed = await roles.ask("LIST", "role/web/secret-id");
    expect(listed.body.data?.keys ?? []).not.toContain(accessor);
  });

  it.each(WHEN)("is destroyed once: the call is lost %s it was carried out", async (when) => {
    const { secret_id: secretId } = await roles.secretId("web");
    atNth(AppRoleSecretIds, "destroy", 1, losing(when));
    expect((await destroy(secretId)).status).toBe(204);
    expect((await lookUp(secretId)).status).toBe(204);
    const { secret_id_accessor: accessor } = await roles.secretId("web");
    atNth(AppRoleSecretIds, "destroyByAccessor", 1, losing(when));
    const path = "role/web/secret-id-accessor/destroy";
    expect((await roles.ask("POST", path, { secret_id_accessor: accessor })).status).toBe(204);
    expect((await roles.ask("POST", path, { secret_id_accessor: accessor })).status).toBe(404);
  });

  it("that has the text of a destroyed one stays when the destruction is repeated", async () => {
    const make = () => roles.ask("POST", "role/web/custom-secret-id", { secret_id: "again" });
    await make();
    const made = async () => expect((await make()).status).toBe(200);
    atNth(AppRoleSecretIds, "destroy", 1, losing("after", made));
    expect((await destroy("again")).status).toBe(204);
    expect((await lookUp("again")).status).toBe(200);
  });

  it("ends the tokens of a login that is repeated", async () => {
    const ofRole = await roles.role("ending", { token_ends_with_secret_id: true });
    const { secret_id: secretId } = await roles.secretId("ending", { num_uses: 1 });
    atNth(AppRoleSecretIds, "use", 1, losing("after"));
    const { body } = await roles.login(ofRole, secretId);
    const token: string = body.auth.client_token;
    const lookUpSelf = async () => (await call("GET", "auth/token/lookup-self", { token })).status;
    expect(await lookUpSelf()).toBe(200);
    await roles.ask("POST", "role/ending/secret-id/destroy", { secret_id: secretId });
    expect(await lookUpSelf()).toBe(403);
  });

  it.each([
    [3, "the secret-id is destroyed"],
    [1, "its role is deleted"],
  ] as const)("gives no login when, of %i uses, one is counted and then %s", async (uses, what) => {
    const name = `ends-${uses}-${what.length}`;
    const ofRole = await roles.role(name);
    const { secret_id: secretId } = await roles.secretId(name, { num_uses: uses });
    const ended = () => {
      if (what === "its role is deleted") return roles.ask("DELETE", `role/${name}`);
      return roles.ask("POST", `role/${name}/secret-id/destroy`, { secret_id: secretId });
    };
    atNth(AppRoleSecretIds, "use", 1, losing("after", ended));
    expect((await roles.login(ofRole, secretId)).status).toBe(503);
  });

  it("that no attempt of a login has found is refused", async () => {
    atNth(AppRoleSecretIds, "use", 1, losing("before"));
    expect(await login("unknown")).toBe(400);
  });

  it("that an object of 1.0.0-rc.1 may have used up is a 503", async () => {
    const { secret_id: secretId } = await roles.secretId("web", { num_uses: 1 });
    const { calls } = atCalls(AppRoleSecretIds, "use", async ({ args, proceed }) => {
      const [role, hash, client, now, token] = args;
      const { isUnused: _, ...used } = await proceed(role, hash, client, now, token);
      if (calls.length > 1) return used;
      throw new Error(LOST);
    });
    expect(await login(secretId)).toBe(503);
  });
});

describe("a policy in a cluster", () => {
  const PATH = "sys/policies/acl/p";
  const text = (path: string) => `path "${path}" { capabilities = ["read"] }`;
  const write = (path: string, fields: object = {}) => post(PATH, { policy: text(path), ...fields });
  const read = async () => (await get(PATH)).body.data;

  beforeEach(async () => {
    await remove(PATH);
    await write("first");
  });

  it.each(WHEN)("is written once: the call is lost %s it was carried out", async (when) => {
    atNth(System, "writePolicy", 1, losing(when));
    expect((await write("second", { cas: 1 })).status).toBe(204);
    expect(await read()).toMatchObject({ version: 2, policy: text("second") });
  });

  it.each(WHEN)("is changed once: the call is lost %s it was carried out", async (when) => {
    atNth(System, "patchPolicy", 1, losing(when));
    const headers = { "Content-Type": "application/merge-patch+json" };
    const patched = await call("PATCH", PATH, { token: root, body: { policy: text("second") }, headers });
    expect(patched.status).toBe(200);
    expect(await read()).toMatchObject({ version: 2, policy: text("second") });
  });

  it.each(WHEN)("is deleted once: the call is lost %s it was carried out", async (when) => {
    atNth(System, "deletePolicy", 1, losing(when));
    expect((await remove(`${PATH}?cas=1`)).status).toBe(204);
    expect((await get(PATH)).status).toBe(404);
  });

  it("keeps what another request wrote before the repetition", async () => {
    const newer = async () => expect((await write("newer")).status).toBe(204);
    atNth(System, "writePolicy", 1, losing("after", newer));
    expect((await write("older")).status).toBe(204);
    expect(await read()).toMatchObject({ version: 3, policy: text("newer") });
    atNth(System, "deletePolicy", 1, losing("after", newer));
    expect((await remove(PATH)).status).toBe(204);
    expect(await read()).toMatchObject({ policy: text("newer") });
  });

  it("that an earlier release has written, which keeps no answer, is a 503", async () => {
    const forget = () =>
      runInDurableObject(bindings.SYSTEM.getByName("system"), (_, { storage }) =>
        storage.sql.exec("UPDATE carried_out SET answer = NULL"),
      );
    atNth(System, "writePolicy", 1, losing("after", forget));
    expect((await write("second")).status).toBe(503);
    expect(await read()).toMatchObject({ version: 2, policy: text("second") });
  });

  it("that a repeated write can't have is a 503", async () => {
    atNth(System, "writePolicy", 1, losing("before"));
    expect((await write("second", { cas: 7 })).status).toBe(503);
    expect((await write("second", { cas: 7 })).status).toBe(400);
  });
});

/** A thing that each request writes as a whole. `write` and `read` are of its value. */
type Written = readonly [
  name: string,
  type: never,
  method: string,
  write: (value: number) => Promise<{ readonly status: number }>,
  read: () => Promise<unknown>,
];

const quota = async () => (await get("sys/quotas/rate-limit/q")).body.data?.rate;
const tuned = async () => (await get("sys/auth/tuned/tune")).body.data.default_lease_ttl;
const exempted = async () => (await get("sys/quotas/config")).body.data.rate_limit_exempt_paths;

const ISSUER_KEY = "identity/oidc/key/k";
const ISSUER_ROLE = "identity/oidc/role/r";
const key = async () => (await get(ISSUER_KEY)).body.data;
const role = async () => (await get(ISSUER_ROLE)).body.data;
const issuer = async () => (await get("identity/oidc/config")).body.data;
const writeKey = (value: number) => post(ISSUER_KEY, { rotation_period: value * 60, verification_ttl: 1 });
const writeRole = (value: number) => post(ISSUER_ROLE, { key: "default", ttl: value });
const writeIssuer = (value: number) => post("identity/oidc/config", { issuer: `https://issuer-${value}` });

const data = (path: string) => async () => (await get(path)).body.data;
const CLIENT = "auth/aws/config/client";
const CERTIFICATE = "auth/aws/config/certificate/c";
const STS = "auth/aws/config/sts/123456789012";
const TIDY = "auth/aws/config/tidy/identity-accesslist";
const IDENTITY = "auth/aws/config/identity";
const writeClient = (value: number) => post(CLIENT, { max_retries: value });
const writeCertificate = (value: number) =>
  post(CERTIFICATE, { aws_public_cert: PUBLIC_CERTIFICATE, type: value === 1 ? "pkcs7" : "identity" });
const writeSts = (value: number) => post(STS, { sts_role: `arn:aws:iam::123456789012:role/${value}` });
const writeTidy = (value: number) => post(TIDY, { safety_buffer: value });

const WRITTEN: readonly Written[] = [
  ["the client of an AWS mount", CloudAuth as never, "writeClient", writeClient, data(CLIENT)],
  ["a certificate of an AWS mount", CloudAuth as never, "writeCertificate", writeCertificate, data(CERTIFICATE)],
  ["a role that an AWS mount assumes", CloudAuth as never, "writeStsRole", writeSts, data(STS)],
  ["tidy settings of an AWS mount", CloudAuth as never, "writeTidy", writeTidy, data(TIDY)],
  [
    "aliases of an AWS mount",
    CloudAuth as never,
    "writeIdentity",
    (value) => post(IDENTITY, { ec2_alias: value === 1 ? "role_id" : "instance_id" }),
    data(IDENTITY),
  ],
  [
    "the configuration of a JWT mount",
    JwtAuth as never,
    "writeConfig",
    (value) => post("auth/jwt/config", { jwt_validation_pubkeys: publicKey, bound_issuer: `issuer-${value}` }),
    data("auth/jwt/config"),
  ],
  [
    "the configuration of a Kubernetes mount",
    KubernetesAuth as never,
    "writeConfig",
    (value) =>
      post("auth/kubernetes/config", { kubernetes_host: `https://k${value}.example`, disable_local_ca_jwt: true }),
    data("auth/kubernetes/config"),
  ],
  ["a key of the issuer", OidcIssuer as never, "writeKey", writeKey, key],
  ["a role of the issuer", OidcIssuer as never, "writeRole", writeRole, role],
  ["the configuration of the issuer", OidcIssuer as never, "writeIssuer", writeIssuer, issuer],
  ["a quota", System as never, "writeQuota", (rate) => post("sys/quotas/rate-limit/q", { rate: rate * 1e6 }), quota],
  [
    "the settings of quotas",
    System as never,
    "configureQuotas",
    (value) => post("sys/quotas/config", { rate_limit_exempt_paths: [`sys/${value}`] }),
    exempted,
  ],
  [
    "the settings of a mount",
    System as never,
    "tuneMount",
    (value) => post("sys/auth/tuned/tune", { default_lease_ttl: value * 60 }),
    tuned,
  ],
];

describe.each(WRITTEN)("%s in a cluster", (_, type, method, write, read) => {
  it.each(WHEN)("is written once: the call is lost %s it was carried out", async (when) => {
    await write(2);
    const written = await read();
    await write(1);
    const { calls } = atNth(type, method as never, 1, losing(when) as never);
    expect((await write(2)).status).toBeLessThan(300);
    expect(await read()).toEqual(written);
    expect(calls).toHaveLength(2);
  });

  it("keeps what another request wrote before the repetition", async () => {
    await write(2);
    const newer = await read();
    atNth(type, method as never, 1, losing("after", () => write(2)) as never);
    expect((await write(1)).status).toBeLessThan(300);
    expect(await read()).toEqual(newer);
  });
});

/** A thing that is made and deleted. `make` is refused, or changes nothing, while it is there. */
type Deleted = readonly [
  name: string,
  type: never,
  method: string,
  path: string,
  make: () => Promise<{ readonly status: number }>,
];

const DELETED: readonly Deleted[] = [
  [
    "a quota",
    System as never,
    "deleteQuota",
    "sys/quotas/rate-limit/q",
    () => post("sys/quotas/rate-limit/q", { rate: 1e6 }),
  ],
  ["a key of the issuer", OidcIssuer as never, "deleteKey", ISSUER_KEY, () => writeKey(1)],
  ["a role of the issuer", OidcIssuer as never, "deleteRole", ISSUER_ROLE, () => writeRole(1)],
  ["the client of an AWS mount", CloudAuth as never, "deleteClient", CLIENT, () => writeClient(1)],
  ["a certificate of an AWS mount", CloudAuth as never, "remove", CERTIFICATE, () => writeCertificate(1)],
  ["a role that an AWS mount assumes", CloudAuth as never, "remove", STS, () => writeSts(1)],
  ["tidy settings of an AWS mount", CloudAuth as never, "deleteTidy", TIDY, () => writeTidy(1)],
];

describe.each(DELETED)("%s in a cluster", (_, type, method, path, make) => {
  it.each(WHEN)("is deleted: the call is lost %s it was carried out", async (when) => {
    await make();
    const { calls } = atNth(type, method as never, 1, losing(when) as never);
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
    expect(calls).toHaveLength(2);
  });

  it("that was made again before the repetition of a deletion stays", async () => {
    await make();
    atNth(type, method as never, 1, losing("after", make) as never);
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(200);
  });
});

describe("a denied role tag in a cluster", () => {
  let path: string;

  beforeAll(async () => {
    await post("auth/aws/role/tagged", { auth_type: "ec2", bound_ami_id: "ami-1", role_tag: "Tag" });
    const { data } = (await post("auth/aws/role/tagged/tag")).body;
    path = `auth/aws/roletag-denylist/${btoa(String(data.tag_value))}`;
  });

  it.each(WHEN)("is denied once, and no more: the calls are lost %s they were carried out", async (when) => {
    const denied = atNth(CloudAuth, "deny", 1, losing(when));
    expect((await post(path)).status).toBe(204);
    expect((await get(path)).status).toBe(200);
    const removed = atNth(CloudAuth, "remove", 1, losing(when));
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
    expect([denied.calls.length, removed.calls.length]).toEqual([2, 2]);
  });

  it("is not denied again when it was removed before the repetition", async () => {
    atNth(
      CloudAuth,
      "deny",
      1,
      losing("after", () => remove(path)),
    );
    expect((await post(path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
  });
});

describe("an AWS role with principals in a cluster", () => {
  it("keeps what another request wrote before the repetition, which looks up none of them", async () => {
    const path = "auth/aws/role/principals";
    const arn = "arn:aws:iam::123456789012:role/";
    await post(path, { bound_iam_principal_arn: `${arn}a/*`, resolve_aws_unique_ids: false });
    const newer = () => post(path, { bound_iam_principal_arn: `${arn}b/*`, resolve_aws_unique_ids: true });
    atNth(CloudAuth, "writeRole", 1, losing("after", newer));
    expect((await post(path, { bound_iam_principal_arn: `${arn}c` })).status).toBe(204);
    expect((await get(path)).body.data.bound_iam_principal_arn).toEqual([`${arn}b/*`]);
  });
});

describe("an instance of an AWS mount in a cluster", () => {
  it("that has logged in again stays when its deletion is repeated", async () => {
    const mount = await mountRow("aws");
    const { list, place } = accessShardFor(bindings, mount, "i-1");
    const login: InstanceLogin = {
      role: "web",
      nonce: { kind: "none", reserved: false },
      pendingTime: "2026-05-01T11:00:00Z",
      pendingTimeMs: 0,
      allowMigration: false,
      disallowReauthentication: false,
      expiresAt: Date.now() + 3_600_000,
    };
    const enter = () => list.enterLogin(place, "i-1", login, Date.now());
    const path = "auth/aws/identity-accesslist/i-1";
    expect(await enter()).toMatchObject({ ok: true });
    atNth(CloudAccessList, "delete", 1, losing("after", enter));
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(200);
    atNth(CloudAccessList, "delete", 1, losing("before"));
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
  });
});

describe("a key of the issuer in a cluster", () => {
  const published = async () => (await get("identity/oidc/.well-known/keys")).body.keys.length;

  it.each(WHEN)("gets two versions: the call is lost %s it was made", async (when) => {
    const before = await published();
    atNth(OidcIssuer, "writeKey", 2, losing(when));
    const body = { algorithm: "EdDSA" };
    expect((await post(`identity/oidc/key/${when}`, body)).status).toBe(204);
    expect(await published()).toBe(before + 2);
  });

  it.each(WHEN)("is rotated once: the call is lost %s it was carried out", async (when) => {
    const before = await published();
    atNth(OidcIssuer, "rotateKey", 1, losing(when));
    expect((await post(`identity/oidc/key/${when}/rotate`)).status).toBe(204);
    expect(await published()).toBe(before + 1);
  });

  it("is made by a caller that may only create it", async () => {
    const token = await tokenUnder(root, 'path "identity/oidc/key/new" { capabilities = ["create"] }');
    const create = () => call("POST", "identity/oidc/key/new", { token, body: { algorithm: "EdDSA" } });
    atNth(OidcIssuer, "writeKey", 2, losing("after"));
    expect((await create()).status).toBe(204);
    expect((await create()).status).toBe(403);
  });
});

describe("a mount in a cluster", () => {
  const accessor = async (path: string) => (await get(`sys/auth/${path}`)).body.data?.accessor;
  const enable = (path: string) => post(`sys/auth/${path}`, { type: "approle" });

  it.each(WHEN)("is enabled once: the call is lost %s it was carried out", async (when) => {
    const { calls } = atNth(System, "enableMount", 1, losing(when));
    expect((await enable(`enabled-${when}`)).status).toBe(204);
    expect(calls).toHaveLength(2);
    expect(await accessor(`enabled-${when}`)).toBe(calls[0]?.args[0].accessor);
  });

  it("does not come back when it is disabled before its enabling is repeated", async () => {
    atNth(
      System,
      "enableMount",
      1,
      losing("after", () => remove("sys/auth/gone")),
    );
    expect((await enable("gone")).status).toBe(204);
    expect(await accessor("gone")).toBeUndefined();
  });

  it.each(WHEN)("is disabled once: the calls are lost %s they were carried out", async (when) => {
    await enable("disabled");
    const lost = [atNth(LeaseWalk, "endTokens", 1, losing(when)), atNth(System, "disableMount", 1, losing(when))];
    expect((await remove("sys/auth/disabled")).status).toBe(204);
    expect(await accessor("disabled")).toBeUndefined();
    for (const { calls } of lost) expect(calls.length).toBeGreaterThan(1);
  });

  it("that has the path of a disabled one stays when the disabling is repeated", async () => {
    await enable("again");
    atNth(
      LeaseWalk,
      "endTokens",
      1,
      losing("after", () => enable("again")),
    );
    expect((await remove("sys/auth/again")).status).toBe(204);
    expect(await accessor("again")).toBeDefined();
  });

  it.each(WHEN)("is moved once: the calls are lost %s they were carried out", async (when) => {
    await enable(`from-${when}`);
    const moved = await accessor(`from-${when}`);
    const lost = [atNth(LeaseWalk, "endTokens", 1, losing(when)), atNth(System, "moveMount", 1, losing(when))];
    const { status } = await post("sys/remount", { from: `auth/from-${when}`, to: `auth/to-${when}` });
    expect([status, await accessor(`to-${when}`)]).toEqual([200, moved]);
    for (const { calls } of lost) expect(calls.length).toBeGreaterThan(1);
  });

  it("ends its tokens once: the call is lost after it was carried out", async () => {
    const { calls } = atNth(LeaseWalk, "endTokens", 1, losing("after"));
    expect((await post("sys/auth/tuned/tune", { not_before: "now" })).status).toBe(204);
    expect(calls).toHaveLength(2);
    const marks = await bindings.SYSTEM.getByName("system").watermarks();
    expect(marks.filter(({ scope }) => scope.includes("tuned"))).toHaveLength(1);
  });
});

describe("identity in a cluster", () => {
  const named = (name: string) => get(`identity/entity/name/${name}`);
  let count = 0;

  /** Writes of all kinds, and what is stored then. */
  async function writeAll() {
    const by = `-${count++}`;
    const done = async (answer: ReturnType<typeof post>) => {
      const { status, body } = await answer;
      expect(status).toBeLessThan(300);
      return body?.data;
    };
    const { accessor: first } = (await get("sys/auth/approle")).body.data;
    const { accessor: second } = (await get("sys/auth/tuned")).body.data;
    const { id } = await done(post("identity/entity", { name: `first${by}` }));
    const { id: other } = await done(post("identity/entity", { name: `other${by}` }));
    const { id: gone } = await done(post("identity/entity", { name: `gone${by}` }));
    await done(post(`identity/entity/id/${id}`, { name: `renamed${by}`, metadata: { a: "b" } }));
    const { id: alias } = await done(
      post("identity/entity-alias", { name: `a${by}`, mount_accessor: first, canonical_id: id }),
    );
    await done(post(`identity/entity-alias/id/${alias}`, { name: `b${by}`, mount_accessor: first }));
    await done(post(`identity/entity-alias/id/${alias}`, { canonical_id: other }));
    const { id: dropped } = await done(
      post("identity/entity-alias", { name: `c${by}`, mount_accessor: second, canonical_id: id }),
    );
    await done(remove(`identity/entity-alias/id/${dropped}`));
    await done(remove(`identity/entity/name/gone${by}`));
    await done(post("identity/entity/merge", { to_entity_id: id, from_entity_ids: [other] }));
    const group = { name: `group${by}`, member_entity_ids: [id] };
    const { id: groupId } = await done(post("identity/group", group));
    await done(post("identity/group", { ...group, policies: ["p"] }));
    const external = { type: "external", name: `external${by}` };
    const { id: externalId } = await done(post("identity/group", external));
    const member = { mount_accessor: first, canonical_id: externalId };
    const { id: groupAlias } = await done(post("identity/group-alias", { ...member, name: `g${by}` }));
    await done(remove(`identity/group-alias/id/${groupAlias}`));
    await done(remove(`identity/group/name/external${by}`));
    const entity = (await named(`renamed${by}`)).body.data;
    const names = JSON.stringify(entity.aliases).match(/(?<="name":")[^"]*/g);
    expect([entity.id, names, entity.metadata]).toEqual([id, [`b${by}`], { a: "b" }]);
    expect([entity.merged_entity_ids, entity.group_ids]).toEqual([[other], [groupId]]);
    for (const name of ["first", "gone"]) expect((await named(name + by)).status).toBe(404);
    for (const one of [dropped, gone]) {
      expect((await get(`identity/entity-alias/id/${one}`)).status).toBe(404);
      expect((await get(`identity/entity/id/${one}`)).status).toBe(404);
    }
    expect((await get(`identity/group/id/${groupId}`)).body.data.policies).toEqual(["p"]);
    expect((await get(`identity/group/id/${externalId}`)).status).toBe(404);
    return Number((await get("identity/entity/id?list=true")).body.data.keys.length);
  }

  const DIRECTORY = ["admitShard", "nameEntity", "forgetEntities", "merge", "writeGroup", "deleteGroup"];
  const OF_ALIASES = ["reserveAlias", "claimAlias", "activateAlias", "dropAlias", "releaseAlias"];
  const OF_ENTITIES = [
    "createEntity",
    "writeEntity",
    "deleteEntities",
    "addMerged",
    "mergeInto",
    "putDirectoryEntries",
  ];
  const CALLS = [
    ...[...DIRECTORY, "writeGroupAlias", "deleteGroupAlias"].map((name) => [name, Identity as never] as const),
    ...[...OF_ALIASES, ...OF_ENTITIES].map((name) => [name, EntityShard as never] as const),
  ];

  it.each(CALLS)("is written once: calls of %s are lost", async (method, type) => {
    const before = await writeAll();
    for (const when of WHEN) {
      // Every second call is lost, so that each is repeated once.
      const { calls, end } = atCalls(
        type,
        method as never,
        (async ({ proceed }: { proceed: () => unknown }) => {
          if (calls.length % 2 === 0) return proceed();
          if (when === "after") await proceed();
          throw new Error(LOST);
        }) as never,
      );
      const entities = await writeAll();
      end();
      expect(entities).toBe(before + (when === "before" ? 1 : 2));
      if (method !== "admitShard") expect(calls.length).toBeGreaterThan(1);
    }
  });

  it.each(WHEN)("has the groups of a login: the call is lost %s it was carried out", async (when) => {
    const { accessor } = (await get("sys/auth/approle")).body.data;
    const { id } = (await post("identity/group", { type: "external", name: `of-login-${when}` })).body.data;
    await post("identity/group-alias", { name: when, mount_accessor: accessor, canonical_id: id });
    const { calls } = atNth(Identity, "setLoginGroups", 1, losing(when));
    const alias = { mountAccessor: accessor, name: `login-${when}`, metadata: null, groups: [when] };
    const entity = await entityForLogin(bindings, alias);
    expect(calls).toHaveLength(2);
    const members = (await get(`identity/group/id/${id}`)).body.data.member_entity_ids;
    expect(members).toEqual([entity.ok && entity.value.entity.id]);
  });

  it("names the entity that a repeated deletion has ended in the audit log", async () => {
    const { id } = (await post("identity/entity", { name: "audited" })).body.data;
    const { calls } = atNth(EntityShard, "deleteEntities", 1, losing("after"));
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    expect((await remove(`identity/entity/id/${id}`)).status).toBe(204);
    expect(calls).toHaveLength(2);
    expect(lines.filter((line) => line.includes('"target_entities"') && line.includes(id))).not.toEqual([]);
  });

  it("gives the id of a group that was renamed before the repetition, and makes no second one", async () => {
    const renamed = async () => {
      const { id } = (await get("identity/group/name/repeated")).body.data;
      expect((await post(`identity/group/id/${id}`, { name: "later" })).status).toBe(204);
    };
    atNth(Identity, "writeGroup", 1, losing("after", renamed));
    const { id } = (await post("identity/group", { name: "repeated" })).body.data;
    expect((await get("identity/group/name/later")).body.data.id).toBe(id);
    expect((await get("identity/group/name/repeated")).status).toBe(404);
  });

  it("keeps the name that another request gave an entity before the repetition", async () => {
    const { id } = (await post("identity/entity", { name: "before" })).body.data;
    const rename = (name: string) => post(`identity/entity/id/${id}`, { name });
    atNth(
      Identity,
      "nameEntity",
      1,
      losing("after", () => rename("newer")),
    );
    expect((await rename("older")).status).toBe(204);
    expect((await get(`identity/entity/id/${id}`)).body.data.name).toBe("newer");
  });

  it("keeps an alias that got its name back before its pointer is deleted again", async () => {
    const { accessor } = (await get("sys/auth/approle")).body.data;
    const { id } = (await post("identity/entity-alias", { name: "one", mount_accessor: accessor })).body.data;
    const rename = (name: string) => post(`identity/entity-alias/id/${id}`, { name, mount_accessor: accessor });
    await rename("two");
    atNth(
      EntityShard,
      "releaseAlias",
      1,
      losing("after", () => rename("two")),
    );
    expect((await rename("three")).status).toBe(200);
    const found = await post("identity/lookup/entity", { alias_name: "two", alias_mount_accessor: accessor });
    expect(found.status).toBe(200);
  });
});

describe("organizations in a cluster", () => {
  let count = 0;
  const ask = (method: string, path: string, type = "", attributes: Record<string, unknown> = {}) =>
    api(method, path, { token: root, ...(type !== "" && { body: resource(type, attributes) }) });
  const create = (name: string) => ask("POST", "organizations", "organizations", { name, email: "a@example.com" });
  const team = (organization: string, name: string) =>
    ask("POST", `organizations/${organization}/teams`, "teams", { name });

  /** Writes of all kinds, and what is stored then. */
  async function writeAll() {
    const name = `cluster-${count++}`;
    const at = `organizations/${name}`;
    const done = async (answer: ReturnType<typeof ask>) => {
      const { status, body } = await answer;
      expect(status).toBeLessThan(300);
      return body?.data;
    };
    await createOrganization(root, name);
    await done(ask("PATCH", at, "organizations", { email: "b@example.com" }));
    const { id } = await done(team(name, "one"));
    await done(ask("PATCH", `teams/${id}`, "teams", { name: "two" }));
    const { id: gone } = await done(team(name, "gone"));
    await done(ask("DELETE", `teams/${gone}`));
    const first = await generateToken(root, id);
    const { id: rotated } = await done(
      ask("POST", `authentication-tokens/${first.id}/actions/rotate`, "authentication-token", { "overlap-seconds": 0 }),
    );
    const described = await describeToken(root, id, "described");
    await done(ask("DELETE", `authentication-tokens/${described.id}`));
    const another = await describeToken(root, id, "another");
    const data = [{ type: "authentication-tokens", id: another.id }];
    await done(api("DELETE", `${at}/team-tokens`, { token: root, body: { data } }));
    const own = await done(ask("POST", `${at}/authentication-token`, "authentication-token"));
    await done(ask("DELETE", `${at}/authentication-token`));
    const webhook = await done(
      ask("POST", `${at}/notification-configurations`, "notification-configurations", {
        ...{ "destination-type": "generic", name: "w", url: "https://example.com", enabled: false, triggers: [] },
      }),
    );
    await done(ask("DELETE", `${at}/notification-configurations/${webhook.id}`));
    expect((await ask("GET", at)).body.data.attributes.email).toBe("b@example.com");
    expect((await teamsOf(root, name)).map(({ attributes }) => attributes.name)).toEqual(["two"]);
    expect(idsOf(await list(root, name, "team-tokens")).sort()).toEqual([first.id, rotated].sort());
    for (const ended of [described.id, another.id, own.id]) {
      expect((await ask("GET", `authentication-tokens/${ended}`)).status).toBe(404);
    }
    await done(ask("DELETE", at));
    expect((await ask("GET", at)).status).toBe(404);
  }

  const OF_TEAM = ["update", "remove", "addToken", "rotateToken", "removeToken", "removeTokens", "end"];
  const OF_ORGANIZATION = ["update", "remove", "tokenHolder", "putWebhook", "removeWebhook", "apply"];
  const CALLS = [
    ...OF_TEAM.map((name) => [name, "of a team", Team as never] as const),
    ...OF_ORGANIZATION.map((name) => [name, "of an organization", Organization as never] as const),
    ...["put", "remove"].map((name) => [name, "of the directory", OrganizationDirectory as never] as const),
  ];

  it.each(CALLS)("are written once: calls of %s %s are lost", async (method, _, type) => {
    for (const when of WHEN) {
      // Every second call is lost, so that each is repeated once.
      const { calls, end } = atCalls(
        type,
        method as never,
        (async ({ proceed }: { proceed: () => unknown }) => {
          if (calls.length % 2 === 0) return proceed();
          if (when === "after") await proceed();
          throw new Error(LOST);
        }) as never,
      );
      await writeAll();
      end();
      expect(calls.length).toBeGreaterThan(1);
    }
  });

  it.each(WHEN)("have a team once: the call is lost %s it was made", async (when) => {
    await createOrganization(root, `with-${when}`);
    const { calls } = atNth(Team, "create", 1, losing(when));
    const { status, body } = await team(`with-${when}`, "team");
    expect(status).toBe(200);
    expect((await teamsOf(root, `with-${when}`)).map(({ id }) => id)).toEqual([body.data.id]);
    expect(calls).toHaveLength(when === "after" ? 2 : 3);
  });

  it("keep a team whose making was answered, when an earlier attempt fails after that", async () => {
    await createOrganization(root, "racing");
    const notified = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    atNth(Organization, "apply", 1, async () => {
      notified.resolve();
      await answered.promise;
      throw new Error("the object does not answer");
    });
    let first: unknown = null;
    const { calls } = atCalls(Team, "create", async ({ proceed }) => {
      const made = proceed();
      if (calls.length === 1) {
        first = made;
        await notified.promise;
        throw new Error(LOST);
      }
      const answer = await made;
      answered.resolve();
      await first;
      return answer;
    });
    const { status, body } = await team("racing", "team");
    expect(status).toBe(200);
    expect((await ask("GET", `teams/${body.data.id}`)).status).toBe(200);
  });

  it.each(WHEN)("are created once: the call is lost %s they were made", async (when) => {
    atNth(Organization, "create", 1, losing(when));
    expect((await create(`made-${when}`)).status).toBe(201);
    expect((await ask("GET", `organizations/made-${when}`)).status).toBe(200);
    expect((await create(`made-${when}`)).status).toBe(422);
  });

  it("are created once by two attempts at the same time", async () => {
    const first = Promise.withResolvers<void>();
    const { calls } = atCalls(Organization, "create", async ({ proceed }) => {
      if (calls.length > 1) return proceed();
      void proceed().then(() => first.resolve());
      throw new Error(LOST);
    });
    expect((await create("together")).status).toBe(201);
    await first.promise;
    expect((await ask("GET", "organizations?q=together")).body.data).toHaveLength(1);
  });

  it("are not created when their name was taken before the repetition", async () => {
    atNth(
      Organization,
      "create",
      1,
      losing("before", () => create("taken")),
    );
    expect((await create("taken")).status).toBe(503);
    expect((await create("taken")).status).toBe(422);
  });

  it("are not created when the directory, of 1.0.0-rc.1, can't tell whether they were", async () => {
    failing(OrganizationDirectory, "hasEnded", 'The RPC receiver does not implement the method "hasEnded".');
    atNth(Organization, "create", 1, losing("before"));
    expect((await create("perhaps")).status).toBe(503);
    expect((await create("perhaps")).status).toBe(201);
  });

  it("don't come back, and no team of theirs, when they were deleted before the repetition", async () => {
    atNth(
      Organization,
      "create",
      1,
      losing("after", () => ask("DELETE", "organizations/deleted")),
    );
    expect((await create("deleted")).status).toBe(201);
    expect((await ask("GET", "organizations/deleted")).status).toBe(404);
    expect((await create("deleted")).status).toBe(201);
    await createOrganization(root, "keeping");
    let deleted = "";
    atNth(
      Team,
      "create",
      1,
      losing("after", async () => {
        deleted = (await teamsOf(root, "keeping"))[0]?.id ?? "";
        await ask("DELETE", `teams/${deleted}`);
      }),
    );
    expect((await team("keeping", "team")).status).toBe(200);
    expect((await ask("GET", `teams/${deleted}`)).status).toBe(404);
  });

  it("are not listed when they were deleted before their listing is repeated", async () => {
    atNth(
      OrganizationDirectory,
      "put",
      1,
      losing("after", () => ask("DELETE", "organizations/unlisted")),
    );
    await create("unlisted");
    expect((await ask("GET", "organizations?q=unlisted")).body.data).toEqual([]);
  });

  it.each(["remove", "removeTokens"] as const)("have the state of a team after a repeated %s", async (method) => {
    const name = `state-${method.toLowerCase()}`;
    await createOrganization(root, name);
    const { id } = (await team(name, "one")).body.data;
    const token = await generateToken(root, id);
    // The first attempt ends before the organization knows.
    failing(Organization, "apply", "the object does not answer", 1);
    const { calls } = atNth(Team, method, 1, losing("after"));
    const data = [{ type: "authentication-tokens", id: token.id }];
    if (method === "remove") await ask("DELETE", `teams/${id}`);
    else await api("DELETE", `organizations/${name}/team-tokens`, { token: root, body: { data } });
    expect(calls).toHaveLength(2);
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([]);
    expect((await teamsOf(root, name)).map(({ id }) => id)).toEqual(method === "remove" ? [] : [id]);
  });

  it("that have the name of a deleted one stay when the deletion is repeated", async () => {
    await createOrganization(root, "again");
    atNth(
      Organization,
      "remove",
      1,
      losing("after", () => create("again")),
    );
    expect((await ask("DELETE", "organizations/again")).status).toBe(204);
    expect((await ask("GET", "organizations/again")).status).toBe(200);
  });

  it("keep the token that another request made before a deletion is repeated", async () => {
    const { teamId } = await organizationWithTeam(root);
    await generateToken(root, teamId);
    atNth(
      Team,
      "removeToken",
      1,
      losing("after", () => generateToken(root, teamId)),
    );
    expect((await ask("DELETE", `teams/${teamId}/authentication-token`)).status).toBe(204);
    expect((await ask("GET", `teams/${teamId}/authentication-token`)).status).toBe(200);
  });
});

describe("an object of 1.0.0-rc.1 in a cluster, which knows of no attempts,", () => {
  /** The answer of the first call of a method is lost. */
  const losingOld = (type: never, method: string) =>
    atCalls(
      type,
      method as never,
      (async ({ args, proceed }: { args: unknown[]; proceed: (...args: unknown[]) => unknown }) => {
        const isFirst = (args.at(-1) as CallAttempt).again === false;
        const answer = await proceed(...args.slice(0, -1));
        if (isFirst) throw new Error(LOST);
        return answer;
      }) as never,
    );

  it("rotates a key once, which goes on signing", async () => {
    const path = "identity/oidc/key/rotated";
    await post(path, { algorithm: "EdDSA", allowed_client_ids: "*" });
    await post("identity/oidc/role/rotated", { key: "rotated", ttl: 60 });
    losingOld(OidcIssuer as never, "rotateKey");
    expect((await post(`${path}/rotate`)).status).toBe(204);
    expect(await bindings.OIDC_ISSUER.getByName("issuer").signerOfKey("rotated")).not.toBeNull();
  });

  it("makes an entity once", async () => {
    losingOld(EntityShard as never, "createEntity");
    expect((await post("identity/entity", { name: "of rc.1" })).status).toBe(200);
  });

  it("reserves a chosen id once", async () => {
    const { calls } = atCalls(CustomIds, "reserve", async ({ args: [, address], proceed }) => {
      if (calls.length > 1) return address;
      await proceed();
      throw new Error(LOST);
    });
    expect((await post("auth/token/create-orphan", { id: "chosen-of-rc1" })).status).toBe(200);
  });

  it("may have made a team or a webhook, which is a 503", async () => {
    await createOrganization(root, "of-rc1");
    const make = (path: string, type: string, attributes: Record<string, unknown>) =>
      api("POST", `organizations/of-rc1/${path}`, { token: root, body: resource(type, attributes) });
    losingOld(Team as never, "create");
    expect((await make("teams", "teams", { name: "team" })).status).toBe(503);
    expect(await teamsOf(root, "of-rc1")).toHaveLength(1);
    losingOld(Organization as never, "putWebhook");
    const type = "notification-configurations";
    const webhook = {
      "destination-type": "generic",
      name: "w",
      url: "https://example.com",
      enabled: false,
      triggers: [],
    };
    expect((await make(type, type, webhook)).status).toBe(503);
  });
});

describe.each([
  ["a token role", TokenRoles, "write", "delete", "auth/token/roles/r", "token_explicit_max_ttl"],
  ["an AppRole role", AppRoleAuth, "writeRole", "deleteRole", "auth/approle/role/r", "token_max_ttl"],
  ["an AWS role", CloudAuth, "writeRole", "remove", "auth/aws/role/r", "token_max_ttl"],
  ["a JWT role", RoleMount, "writeRole", "deleteRole", "auth/jwt/role/r", "token_max_ttl"],
  ["a Kubernetes role", RoleMount, "writeRole", "deleteRole", "auth/kubernetes/role/r", "token_max_ttl"],
] as const)("%s in a cluster", (_, type, method, removal, path, field) => {
  const fieldsOf = (seconds: number) => ({
    ...(path.includes("aws") && { bound_ami_id: "ami-1", auth_type: "ec2" }),
    ...(path.includes("jwt") && { role_type: "jwt", user_claim: "sub", bound_audiences: "a" }),
    ...(path.includes("kubernetes") && {
      bound_service_account_names: "a",
      bound_service_account_namespaces: "b",
      audience: "c",
    }),
    [field]: seconds,
  });
  const write = async (seconds: number) => post(path, fieldsOf(seconds));
  const read = async () => (await get(path)).body.data[field];
  /** More than the mount allows. */
  const TOO_LONG = 40 * 86_400;

  it.each(WHEN)("is written, with its warnings: the call is lost %s it was carried out", async (when) => {
    const calls = atNth(type as never, method as never, 1, losing(when) as never).calls;
    const { status, body } = await write(TOO_LONG);
    expect([status, body.warnings?.length]).toEqual([200, 1]);
    expect(await read()).toBe(TOO_LONG);
    expect(calls).toHaveLength(2);
  });

  it.each(WHEN)("is deleted: the call is lost %s it was carried out", async (when) => {
    await write(10);
    atNth(type as never, removal as never, 1, losing(when) as never);
    expect((await remove(path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
  });

  it("that was made again before the repetition of a deletion stays", async () => {
    await write(10);
    const made = async () => expect((await write(20)).status).toBe(204);
    atNth(type as never, removal as never, 1, losing("after", made) as never);
    expect((await remove(path)).status).toBe(204);
    expect(await read()).toBe(20);
  });

  it("is written by a caller that may only create it", async () => {
    const token = await tokenUnder(root, `path "${path}-new" { capabilities = ["create"] }`);
    const create = () => call("POST", `${path}-new`, { token, body: fieldsOf(10) });
    atNth(type as never, method as never, 1, losing("after") as never);
    expect((await create()).status).toBe(204);
    expect((await create()).status).toBe(403);
  });

  it("keeps what another request wrote before the repetition", async () => {
    const newer = async () => expect((await write(20)).status).toBe(204);
    atNth(type as never, method as never, 1, losing("after", newer) as never);
    expect((await write(10)).status).toBe(204);
    expect(await read()).toBe(20);
  });
});
