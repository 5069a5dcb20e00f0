import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { hourly } from "../../../src/app/cron.ts";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import {
  AccessorShard,
  AppRoleAuth,
  AppRoleSecretIds,
  AuditDirectory,
  AuditShard,
  BackupRuns,
  CloudAccessList,
  CloudAuth,
  CloudLookups,
  CustomIds,
  EntityShard,
  Identity,
  JwtAuth,
  KubernetesAuth,
  LeaseWalk,
  OidcIssuer,
  Organization,
  OrganizationDirectory,
  ShardTidy,
  System,
  Team,
  Tidy,
  TokenRevocations,
  TokenRoles,
  TokenTree,
} from "../../../src/index.ts";
import { type AppRoleMount, mountAppRole } from "../../support/app-role.ts";
import { goneObjects, holdAlarms } from "../../support/calls.ts";
import { DocumentSigner } from "../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../support/cloud-mount.ts";
import { runAs } from "../../support/deployments.ts";
import { type Account, FakeApiServer, CLUSTER as PODS } from "../../support/fake-api-server.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { ISSUER, type Issuer, newIssuer } from "../../support/issuer.ts";
import { mountKubernetes } from "../../support/kubernetes.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { api, createOrganization, createTeam, generateToken } from "../../support/teams.ts";

/** Longer than any copy of a cluster is used (ms). */
const TOO_OLD_MS = 1_200_000;

/** The longest pause before a repetition (ms): these are shortened. Longer timers bound waits for answers. */
const LONGEST_PAUSE_MS = 800;

const cloud = new FakeCloud();
let root: string;
let roles: AppRoleMount;
let machines: CloudMount;
let issuer: Issuer;
let pods: FakeApiServer;
let pod: Account;
let podLogin: Awaited<ReturnType<typeof mountKubernetes>>["login"];
let roleId: string;
let holder: string;
let named: string;
let team: string;
let ofTeam: string;

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const get = (path: string, token = root) => call("GET", path, { token });

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const original = setTimeout;
  const pause = (work: () => void, ms: number) => original(work, ms > LONGEST_PAUSE_MS ? ms : Math.min(ms, 1));
  vi.stubGlobal("setTimeout", pause);
  root = await initialized();
  await post("auth/token/roles/service", { allowed_entity_aliases: "*", allowed_policies: "default,holder" });
  await post("sys/policies/acl/holder", { policy: 'path "identity/oidc/token/*" { capabilities = ["read"] }' });
  roles = await mountAppRole(root, "approle");
  roleId = await roles.role("web", { token_ttl: "1h" });
  replaceInternet(cloud);
  machines = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await machines.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_ttl: "10m" });
  await alsoReachable(async () => {
    pods = await FakeApiServer.start();
  });
  pod = pods.addAccount("web", "api");
  podLogin = (await mountKubernetes(root, "kubernetes", pods)).login;
  issuer = await newIssuer("ES256", "key-1");
  await post("sys/auth/jwt", { type: "jwt" });
  await post("auth/jwt/config", { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
  const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_ttl: "10m" };
  expect((await post("auth/jwt/role/ci", role)).status).toBe(204);
  await post("identity/oidc/key/k", { algorithm: "ES256", allowed_client_ids: "*" });
  await post("identity/oidc/role/r", { key: "k", ttl: "10m" });
  const made = await post("auth/token/create/service", { entity_alias: "me", policies: ["holder"] });
  holder = made.body.auth.client_token;
  named = (await post("auth/token/create-orphan", { id: "chosen" })).body.auth.client_token;
  await post("identity/group", { name: "everybody" });
  await createOrganization(root, "acme");
  team = await createTeam(root, "acme", "ops");
  ofTeam = (await generateToken(root, team)).text;
});

beforeEach(() => {
  runAs(CLUSTER);
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

/** Makes the fake host that `start` puts in the place of the internet a part of what is there. */
async function alsoReachable(start: () => Promise<void>): Promise<void> {
  const before = fetch;
  await start();
  const added = fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input);
    return url.startsWith(`${PODS}/`) ? added(input, init) : before(input, init);
  });
}

type Sent = Promise<{ readonly status: number; readonly headers: Headers }>;

let chosen = 0;

/** Requests of every kind. Each is prepared while all objects are there, and sent when some are gone. */
const REQUESTS = {
  "sys/health": async () => () => call("GET", "sys/health"),
  "look-up": async () => () => get("auth/token/lookup-self"),
  "look-up of a holder": async () => () => get("auth/token/lookup-self", holder),
  "look-up of a chosen id": async () => () => get("auth/token/lookup-self", named),
  child: async () => () => post("auth/token/create", { ttl: "1h" }),
  orphan: async () => () => post("auth/token/create-orphan", { ttl: "1h" }),
  "child by a role": async () => () => post("auth/token/create/service", { ttl: "1h" }),
  "chosen id": async () => () => post("auth/token/create-orphan", { id: `chosen-${chosen++}` }),
  renewal: async () => {
    const { client_token } = await createToken(root, { ttl: "1h" });
    return () => post("auth/token/renew-self", {}, client_token);
  },
  revocation: async () => {
    const { client_token } = await createToken(root, { ttl: "1h" });
    return () => post("auth/token/revoke-self", {}, client_token);
  },
  "revocation by accessor": async () => {
    const { accessor } = await createToken(root, { ttl: "1h" });
    return () => post("auth/token/revoke-accessor", { accessor });
  },
  accessors: async () => () => get("auth/token/accessors?list=true"),
  policies: async () => () => get("sys/policies/acl?list=true"),
  "login by approle": async () => {
    const { secret_id } = await roles.secretId("web");
    return () => roles.login(roleId, secret_id);
  },
  "login by document": async () => {
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    return () => machines.loginInstance(instance, { role: "web" });
  },
  "login by JWT": async () => async () =>
    call("POST", "auth/jwt/login", { body: { role: "ci", jwt: await issuer.sign({}) } }),
  "login by a pod": async () => {
    const jwt = await pods.tokenOf(pod);
    return async () => (await podLogin(jwt)).answer;
  },
  "list of entities": async () => () => get("identity/entity/name?list=true"),
  "list of groups": async () => () => get("identity/group/name?list=true"),
  "signed token": async () => () => get("identity/oidc/token/r", holder),
  "published keys": async () => () => call("GET", "identity/oidc/.well-known/keys"),
  "token of a team": async () => () => api("GET", "account/details", { token: ofTeam }),
  team: async () => () => api("GET", `teams/${team}`, { token: root }),
  organizations: async () => () => api("GET", "organizations", { token: root }),
  "tidy status": async () => () => get("auth/token/tidy-status"),
  "backup runs": async () => () => get("sys/backup/runs"),
  "revocation jobs": async () => () => get("sys/tokens/jobs"),
  "revocation of a prefix": async () => () => call("PUT", "sys/leases/revoke-prefix/nothing", { token: root }),
} satisfies Record<string, () => Promise<() => Sent>>;

type Name = keyof typeof REQUESTS;
type Row = readonly [
  type: Parameters<typeof goneObjects>[0],
  copies: "fresh" | "too old",
  gone: readonly Name[],
  served: readonly Name[],
];

/** What docs/cluster.md says of objects whose owner is gone. */
const ROWS: readonly Row[] = [
  [CloudLookups, "fresh", ["login by document"], ["look-up"]],
  [CloudAccessList, "fresh", ["login by document"], ["look-up"]],
  [CloudAuth, "fresh", [], ["login by document"]],
  [CloudAuth, "too old", ["login by document"], ["look-up"]],
  [TokenTree, "too old", ["look-up", "child", "orphan", "renewal", "revocation"], ["sys/health", "published keys"]],
  [System, "fresh", [], ["look-up", "child", "revocation", "login by approle"]],
  [System, "too old", ["look-up", "sys/health", "login by approle", "published keys", "team"], []],
  [AccessorShard, "too old", ["accessors"], ["child", "orphan", "renewal", "revocation by accessor", "login by JWT"]],
  [TokenRoles, "too old", ["child by a role"], ["child"]],
  [CustomIds, "too old", ["chosen id", "look-up of a chosen id"], ["look-up", "orphan"]],
  [Identity, "fresh", ["list of groups"], ["look-up of a holder", "login by approle"]],
  [Identity, "too old", ["list of groups", "list of entities"], ["look-up", "look-up of a holder"]],
  [EntityShard, "too old", ["look-up of a holder", "signed token", "login by approle", "login by JWT"], ["child"]],
  [AppRoleAuth, "fresh", [], ["login by approle"]],
  [AppRoleAuth, "too old", ["login by approle"], ["look-up"]],
  [AppRoleSecretIds, "fresh", ["login by approle"], []],
  [JwtAuth, "too old", ["login by JWT"], ["look-up"]],
  [KubernetesAuth, "fresh", ["login by a pod"], ["look-up"]],
  [Organization, "too old", ["token of a team"], ["team", "look-up"]],
  [OrganizationDirectory, "too old", ["organizations"], ["team"]],
  [Team, "too old", ["team", "token of a team"], ["organizations"]],
  [OidcIssuer, "too old", ["signed token", "published keys"], ["look-up of a holder"]],
  [Tidy, "too old", ["tidy status"], ["look-up", "child"]],
  [AuditShard, "too old", [], ["look-up", "child", "orphan", "revocation", "login by JWT"]],
  [AuditDirectory, "too old", [], ["look-up", "child", "orphan", "revocation", "login by JWT"]],
  [ShardTidy, "too old", [], ["tidy status", "look-up", "child", "accessors"]],
  [BackupRuns, "too old", ["backup runs"], []],
  [LeaseWalk, "too old", ["revocation of a prefix"], ["revocation"]],
  [TokenRevocations, "too old", ["revocation jobs"], ["revocation"]],
];

describe("while the objects of a class are gone", () => {
  it.each(ROWS)(
    "%o, copies %s: what needs them is a 503 that says when to come again",
    async (type, copies, gone, served) => {
      const prepared = await Promise.all(
        [...gone, ...served].map(async (name) => [name, await REQUESTS[name]()] as const),
      );
      if (copies === "too old") vi.setSystemTime(Date.now() + TOO_OLD_MS);
      const away = goneObjects(type);
      const answers: Record<string, string> = {};
      for (const [name, send] of prepared) {
        const { status, headers } = await send();
        answers[name] = status < 300 ? "served" : `${status}, ${headers.get("Retry-After")}`;
      }
      away.end();
      const expected = [...gone.map((name) => [name, "503, 1"]), ...served.map((name) => [name, "served"])];
      expect(answers).toEqual(Object.fromEntries(expected));
    },
  );
});

describe("the work of an hour", () => {
  it.each([System, Tidy])("is not begun while %o is gone, and fails", async (type) => {
    vi.setSystemTime(Date.now() + TOO_OLD_MS);
    const away = goneObjects(type);
    await expect(hourly(bindings)).rejects.toThrow();
    away.end();
    await hourly(bindings);
  });

  it("is begun without the checks of shards whose objects are gone, which is said, and they begin the next time", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const away = goneObjects(ShardTidy);
    await hourly(bindings);
    const lines = () => said.mock.calls.flat().filter((line) => String(line).includes("its check could not be begun"));
    const { length } = lines();
    expect(length).toBeGreaterThan(0);
    away.end();
    await hourly(bindings);
    expect(lines()).toHaveLength(length);
  });
});
