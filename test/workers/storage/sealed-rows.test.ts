import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { entityView, GroupDirectory } from "../../../src/identity/entity-copies.ts";
import { newEntityId, shardOfAlias, shardOfEntity } from "../../../src/identity/shard/sharding.ts";
import { entityShard, identityOf, shardAt } from "../../../src/identity/stubs.ts";
import { oidcIssuerOf } from "../../../src/issuer/oidc-issuer.ts";
import { appRoleAuthAt } from "../../../src/methods/approle/app-role-auth.ts";
import { secretIdShardAt } from "../../../src/methods/approle/secret-id-shards.ts";
import type { CloudAuth } from "../../../src/methods/aws/mount/cloud-auth.ts";
import { accessShardFor } from "../../../src/methods/aws/mount/mount-config.ts";
import type { InstanceLogin } from "../../../src/methods/aws/rules/reauthentication.ts";
import { jwtAuthAt } from "../../../src/methods/jwt/jwt-auth.ts";
import { kubernetesAuthAt } from "../../../src/methods/kubernetes/kubernetes-auth.ts";
import { type CheckedRows, RowSeals, type SealPosition } from "../../../src/storage/row-seals.ts";
import { SealedTable } from "../../../src/storage/sealed-table.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import type { Team } from "../../../src/team/team.ts";
import { tokenRoles } from "../../../src/token/roles/token-roles.ts";
import { cloudObject, enableCloud, mountRow } from "../../support/cloud.ts";
import { rowsOf, type StoredRow } from "../../support/rows.ts";
import { bindings, call, initialized, keysOf } from "../../support/service.ts";
import { deleteRows, insertRows, writeStorage } from "../../support/storage-writer.ts";
import { api, createOrganization, createTeam, generateToken, resource } from "../../support/teams.ts";
import { holdTidy, tidyNow } from "../../support/tidy.ts";

/** A row that somebody without keys changes, and what shows that it is refused. */
interface Case {
  readonly kind: string;
  readonly table: string;
  /** Where the row is. */
  readonly object: () => Promise<DurableObjectStub>;
  /** Makes the row. */
  readonly make: () => Promise<unknown>;
  /** SQL that changes something the row decides. */
  readonly forge: string;
  /** What depends on the row: the answer before, and after. */
  readonly ask: () => Promise<unknown>;
  readonly before: unknown;
  readonly after: unknown;
}

const NOW = Date.parse("2026-05-01T12:00:00Z");
const TAG = "v1:EnEncMv8Lcw=:r=web:p=:t=1h0m0s:1Xz5UH2+2ZtHUGS9lbRBQkg7cKKIx8O4u1e2P6Yy3cQ=";

let root: string;

beforeEach(holdTidy);

beforeAll(async () => {
  root = await initialized();
  await enableCloud(root, "machines", "aws");
  await enableCloud(root, "settled", "aws");
  await call("POST", "sys/auth/jobs", { token: root, body: { type: "jwt" } });
  await call("POST", "sys/auth/apps", { token: root, body: { type: "approle" } });
  await call("POST", "sys/auth/pods", { token: root, body: { type: "kubernetes" } });
});

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const status = async (method: string, path: string) => (await call(method, path, { token: root })).status;

/** What a login by the role "web" at the mount goes by: whether there is the role, and whether the settings count. */
const begin = async (mount: string) => {
  const ask = { settings: true, roleName: "web", accountId: null };
  const { role, settings } = await (await cloudObject(mount)).readForLogin(ask);
  return { role: role !== null, settings: settings?.tampered === false };
};

const certificatesAt = async (mount: string) => {
  const ask = { settings: true, roleName: null, accountId: null };
  return (await (await cloudObject(mount)).readForLogin(ask)).settings?.certificates.length;
};

const web = (mount: string) =>
  post(`auth/${mount}/role/web`, {
    auth_type: "iam",
    bound_iam_principal_arn: "arn:aws:iam::111111111111:role/web",
    resolve_aws_unique_ids: false,
    token_policies: "web",
  });

const instanceLogin = (hash: string): InstanceLogin => ({
  role: "web",
  nonce: { kind: "sent", hash },
  pendingTime: "2026-05-01T11:00:00Z",
  pendingTimeMs: Date.parse("2026-05-01T11:00:00Z"),
  allowMigration: false,
  disallowReauthentication: false,
  expiresAt: NOW + 3_600_000,
});

/** Enters a login of an instance; the refusal, or "entered". */
const enter = async (instance: string) => {
  const { list, place } = accessShardFor(bindings, await mountRow("machines"), instance);
  const entered = await list.enterLogin(place, instance, instanceLogin("AAAA"), NOW);
  return entered.ok ? "entered" : "message" in entered.error ? entered.error.message : entered.error.code;
};

/** The shard with the one secret-id at the mount "apps". */
let secretIds: DurableObjectStub | null = null;
async function secretIdShard(): Promise<DurableObjectStub> {
  if (secretIds) return secretIds;
  const [accessor = ""] = keysOf(await call("GET", "auth/apps/role/ci/secret-id?list=true", { token: root }));
  secretIds = secretIdShardAt(bindings, await mountRow("apps"), Number.parseInt(accessor.slice(0, 1), 16));
  return secretIds;
}

/** Whether tokens of the secret-id "held" of the role "held" at the mount "apps" have a parent. */
const hasParent = async () => {
  const { shard, row } = await heldSecretId();
  const wanted = { mount: await mountRow("apps"), name: "held", location: undefined, watermark: 0 };
  const found = await shard.parentOf(String(row?.role), String(row?.accessor), wanted);
  return found.ok && found.value !== null;
};

/** The shard with the one secret-id of that role. */
let holding: ReturnType<typeof secretIdShardAt> | null = null;
async function heldSecretId() {
  holding ??= await shardOfHeld();
  const row = (await rowsOf(holding, "token_parents")).find(({ accessor }) => accessor !== "");
  return { shard: holding, row };
}

async function shardOfHeld() {
  const [accessor = ""] = keysOf(await call("GET", "auth/apps/role/held/secret-id?list=true", { token: root }));
  return secretIdShardAt(bindings, await mountRow("apps"), Number.parseInt(accessor.slice(0, 1), 16));
}

const CASES: readonly Case[] = [
  {
    kind: "watermark",
    table: "watermarks",
    object: async () => systemOf(bindings),
    make: () => systemOf(bindings).addWatermark({ id: "w", scope: "entity:nobody", createdBefore: null }, Date.now()),
    forge: "UPDATE watermarks SET created_before = 1",
    ask: async () => (await systemOf(bindings).watermarks()).map(({ scope }) => scope),
    before: ["entity:nobody"],
    after: [],
  },
  {
    kind: "rate limit quota",
    table: "rate_limit_quotas",
    object: async () => systemOf(bindings),
    make: () => post("sys/quotas/rate-limit/slow", { rate: 1000, path: "sys/" }),
    forge: `UPDATE rate_limit_quotas SET quota = replace(quota, '1000', '9000')`,
    ask: () => status("GET", "sys/quotas/rate-limit/slow"),
    before: 200,
    after: 404,
  },
  {
    kind: "quota setting",
    table: "quota_config",
    object: async () => systemOf(bindings),
    make: () => post("sys/quotas/config", { rate_limit_exempt_paths: ["auth/marker"] }),
    forge: `UPDATE quota_config SET config = replace(config, 'auth/marker', 'auth')`,
    ask: async () => (await systemOf(bindings).quotaConfig()).exemptPaths.includes("auth/marker"),
    before: true,
    after: false,
  },
  {
    kind: "key rotation",
    table: "key_rotation",
    object: async () => systemOf(bindings),
    make: () => post("sys/rotate/config", { max_operations: 2_000_000 }),
    forge: "UPDATE key_rotation SET enabled = 0",
    ask: async () => (await systemOf(bindings).keyUse(1)).settings.maxOperations,
    before: 2_000_000,
    after: 3_865_470_566,
  },
  {
    kind: "audit object number",
    table: "audit_numbers",
    object: async () => systemOf(bindings),
    make: async () => systemOf(bindings).noteAuditObjects([{ shard: 77, number: 5 }]),
    forge: "UPDATE audit_numbers SET number = 4 WHERE shard = 77",
    ask: async () => (await systemOf(bindings).noteAuditObjects([])).find(({ shard }) => shard === 77)?.number,
    before: 5,
    after: undefined,
  },
  {
    kind: "audit backlog",
    table: "audit_backlogs",
    object: async () => systemOf(bindings),
    make: async () => systemOf(bindings).noteAuditBacklog({ writer: "w", since: NOW, at: NOW, most: 100 }),
    forge: "UPDATE audit_backlogs SET most = 1",
    ask: async () => (await systemOf(bindings).auditBacklogs()).map(({ most }) => most),
    before: [100],
    after: [],
  },
  {
    kind: "token role",
    table: "roles",
    object: async () => tokenRoles(bindings),
    make: () => post("auth/token/roles/ci", { allowed_policies: "ci" }),
    forge: `UPDATE roles SET value = replace(value, '["ci"]', '["admin"]') WHERE name = 'ci'`,
    // Creations go by what the isolate remembers for some seconds; a server that was stopped remembers nothing.
    ask: () => status("GET", "auth/token/roles/ci"),
    before: 200,
    after: 404,
  },
  {
    kind: "cloud role",
    table: "roles",
    object: () => cloudObject("machines"),
    make: () => web("machines"),
    forge: `UPDATE roles SET value = replace(value, 'role/web', 'role/any') WHERE name = 'web'`,
    ask: () => begin("machines"),
    before: { role: true, settings: true },
    after: { role: false, settings: true },
  },
  {
    kind: "cloud setting",
    table: "settings",
    object: () => cloudObject("settled"),
    make: async () => {
      await web("settled");
      await post("auth/settled/config/client", { iam_server_id_header_value: "grove.example" });
    },
    forge: `UPDATE settings SET value = replace(value, 'grove.example', '') WHERE name = 'client'`,
    ask: () => begin("settled"),
    before: { role: true, settings: true },
    after: { role: false, settings: false },
  },
  {
    kind: "cloud certificate",
    table: "certificates",
    object: () => cloudObject("machines"),
    make: async () =>
      (await cloudObject("machines")).writeCertificate("c", "PEM", "pkcs7", { create: true, update: true }),
    forge: `UPDATE certificates SET value = replace(value, 'PEM', 'MINE') WHERE name = 'c'`,
    ask: async () => certificatesAt("machines"),
    before: 1,
    after: 0,
  },
  {
    kind: "cloud sts role",
    table: "sts_roles",
    object: () => cloudObject("machines"),
    make: () => post("auth/machines/config/sts/111111111111", { sts_role: "arn:aws:iam::111111111111:role/reader" }),
    forge: `UPDATE sts_roles SET value = replace(value, 'reader', 'writer')`,
    ask: () => status("GET", "auth/machines/config/sts/111111111111"),
    before: 200,
    after: 404,
  },
  {
    kind: "access list entry",
    table: "access_list",
    object: async () => accessShardFor(bindings, await mountRow("machines"), "i-1").list,
    make: () => enter("i-1"),
    forge: `UPDATE access_list SET value = replace(value, 'AAAA', 'BBBB') WHERE name = 'i-1'`,
    ask: async () => enter("i-1"),
    before: "entered",
    after: "permission_denied",
  },
  {
    kind: "deny list entry",
    table: "deny_list",
    object: () => cloudObject("machines"),
    make: async () => (await cloudObject("machines")).deny(TAG, "role", NOW + 3_600_000, NOW),
    forge: `UPDATE deny_list SET value = replace(value, 'expiresAt', 'was')`,
    ask: async () => (await cloudObject("machines")).isDenied(TAG),
    // What can't be read any more denies all the same.
    before: true,
    after: true,
  },
  {
    kind: "jwt setting",
    table: "settings",
    object: async () => jwtAuthAt(bindings, await mountRow("jobs")),
    make: async () =>
      jwtAuthAt(bindings, await mountRow("jobs")).writeConfig(
        {
          discoveryUrl: "",
          jwksUrl: "https://issuer.example/keys",
          publicKeys: [],
          boundIssuer: "",
          algorithms: [],
          defaultRole: "",
          revision: "1",
        },
        undefined,
      ),
    forge: `UPDATE settings SET value = replace(value, 'issuer.example', 'elsewhere.example')`,
    ask: async () => (await jwtAuthAt(bindings, await mountRow("jobs")).readLogin("ci")).config !== null,
    before: true,
    after: false,
  },
  {
    kind: "jwt role",
    table: "roles",
    object: async () => jwtAuthAt(bindings, await mountRow("jobs")),
    make: () =>
      post("auth/jobs/role/ci", {
        role_type: "jwt",
        user_claim: "sub",
        bound_audiences: "grove",
        token_policies: "ci",
      }),
    forge: `UPDATE roles SET value = replace(value, '["ci"]', '["admin"]')`,
    ask: async () => (await jwtAuthAt(bindings, await mountRow("jobs")).readLogin("ci")).role !== null,
    before: true,
    after: false,
  },
  {
    kind: "jwt pending login",
    table: "pending_logins",
    object: async () => jwtAuthAt(bindings, await mountRow("jobs")),
    make: async () => {
      const value = new Uint8Array([0, 1, 0, 0]);
      const row = { hash: "h", role: "ci", client: "", network: "", value, expiresAt: NOW + 600_000 };
      await jwtAuthAt(bindings, await mountRow("jobs")).beginLogin(row, NOW);
    },
    forge: `UPDATE pending_logins SET role = 'admin'`,
    ask: async () => (await jwtAuthAt(bindings, await mountRow("jobs")).findLogin("h", null, NOW)).row !== null,
    before: true,
    after: false,
  },
  {
    kind: "app role setting",
    table: "settings",
    object: async () => appRoleAuthAt(bindings, await mountRow("apps")),
    make: () => post("auth/apps/role/ci", { role_id: "ci", token_policies: "ci" }),
    forge: "UPDATE settings SET value = '1' WHERE name = 'state'",
    ask: async () => (await appRoleAuthAt(bindings, await mountRow("apps")).configurationState()) > 0,
    before: true,
    after: false,
  },
  {
    kind: "app role",
    table: "roles",
    object: async () => appRoleAuthAt(bindings, await mountRow("apps")),
    make: () => post("auth/apps/role/ci", { role_id: "ci", token_policies: "ci" }),
    forge: `UPDATE roles SET value = replace(value, '["ci"]', '["admin"]')`,
    ask: () => status("GET", "auth/apps/role/ci"),
    before: 200,
    after: 404,
  },
  {
    kind: "app role id",
    table: "role_ids",
    object: async () => appRoleAuthAt(bindings, await mountRow("apps")),
    make: () => post("auth/apps/role/ci", { role_id: "ci", token_policies: "ci" }),
    forge: `UPDATE role_ids SET name = 'forged'`,
    ask: async () => (await appRoleAuthAt(bindings, await mountRow("apps")).readByRoleId("ci")).found !== null,
    before: true,
    after: false,
  },
  {
    kind: "secret id",
    table: "secret_ids",
    object: secretIdShard,
    make: async () => {
      await post("auth/apps/role/ci", { role_id: "ci", token_policies: "ci" });
      await post("auth/apps/role/ci/custom-secret-id", { secret_id: "once", num_uses: 1 });
    },
    forge: `UPDATE secret_ids SET value = replace(value, '"usesLeft":1', '"usesLeft":9')`,
    ask: async () => (await post("auth/apps/role/ci/secret-id/lookup", { secret_id: "once" })).status,
    before: 200,
    after: 204,
  },
  {
    kind: "token parent",
    table: "token_parents",
    object: async () => (await heldSecretId()).shard,
    make: async () => {
      await post("auth/apps/role/held", { role_id: "held", token_ends_with_secret_id: true });
      await post("auth/apps/role/held/custom-secret-id", { secret_id: "held" });
      await post("auth/apps/login", { role_id: "held", secret_id: "held" });
    },
    forge: "UPDATE token_parents SET expires_at = 1 WHERE accessor <> ''",
    ask: hasParent,
    before: true,
    after: false,
  },
  {
    kind: "kubernetes setting",
    table: "settings",
    object: async () => kubernetesAuthAt(bindings, await mountRow("pods")),
    make: () => post("auth/pods/config", { kubernetes_host: "https://cluster.example" }),
    forge: `UPDATE settings SET value = replace(value, 'cluster.example', 'elsewhere.example')`,
    ask: async () => (await kubernetesAuthAt(bindings, await mountRow("pods")).readConfig()) !== null,
    before: true,
    after: false,
  },
  {
    kind: "kubernetes role",
    table: "roles",
    object: async () => kubernetesAuthAt(bindings, await mountRow("pods")),
    make: () =>
      post("auth/pods/role/web", {
        bound_service_account_names: "api",
        bound_service_account_namespaces: "web",
        token_policies: "ci",
      }),
    forge: `UPDATE roles SET value = replace(value, '["ci"]', '["admin"]')`,
    ask: async () => (await kubernetesAuthAt(bindings, await mountRow("pods")).readRole("web")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "issuer role",
    table: "roles",
    object: async () => oidcIssuerOf(bindings),
    make: async () => {
      await post("identity/oidc/key/named", { algorithm: "ES256", allowed_client_ids: "*" });
      await post("identity/oidc/role/user", { key: "named", ttl: "1h" });
    },
    forge: `UPDATE roles SET value = replace(value, '3600', '36000')`,
    ask: async () => (await oidcIssuerOf(bindings).signerOfRole("user")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "issuer key",
    table: "keys",
    object: async () => oidcIssuerOf(bindings),
    make: () => post("identity/oidc/key/other", { algorithm: "ES256", allowed_client_ids: "web" }),
    forge: `UPDATE keys SET config = replace(config, '"web"', '"*"') WHERE name = 'other'`,
    ask: async () => (await oidcIssuerOf(bindings).signerOfKey("other")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "issuer key",
    table: "keys",
    object: async () => oidcIssuerOf(bindings),
    make: async () => {},
    // The key would never be rotated again.
    forge: "UPDATE keys SET next_rotation = 9e15 WHERE name = 'named'",
    ask: async () => (await oidcIssuerOf(bindings).signerOfKey("named")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "issuer key version",
    table: "key_versions",
    object: async () => oidcIssuerOf(bindings),
    make: async () => {},
    // The private half of one key would sign as another.
    forge: `UPDATE key_versions SET name = 'other' WHERE name = 'named'`,
    ask: async () => (await oidcIssuerOf(bindings).signerOfKey("named")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "issuer",
    table: "issuer",
    object: async () => oidcIssuerOf(bindings),
    make: async () => {
      await post("identity/oidc/config", { issuer: "https://grove.example" });
      await post("identity/oidc/key/third", { algorithm: "ES256" });
    },
    forge: `UPDATE issuer SET url = 'https://elsewhere.example'`,
    ask: async () => (await oidcIssuerOf(bindings).signerOfKey("third")) !== null,
    before: true,
    after: false,
  },
  {
    kind: "entity",
    table: "entities",
    object: async () => homeOfAnn(),
    make: async () => {
      people.mount = (await mountRow("jobs")).accessor;
      people.entity = (await post("identity/entity", { name: "ann", policies: ["web"] })).body.data.id;
    },
    forge: `UPDATE entities SET content = replace(content, '"web"', '"admin"')`,
    ask: policiesOfAnn,
    before: ["web"],
    after: null,
  },
  {
    kind: "entity merge",
    table: "merges",
    object: async () => identityOf(bindings),
    make: async () => expect(await identityOf(bindings).beginMerge(["one"], "two")).toMatchObject({ ok: true }),
    forge: `UPDATE merges SET target = 'another'`,
    ask: () => identityOf(bindings).begunMerges(["one"], "two"),
    before: ["one"],
    after: [],
  },
  {
    kind: "merged entity",
    table: "merged",
    object: async () => homeOfMerged(),
    make: async () => {
      if (people.merged !== "") return;
      const target = (await post("identity/entity")).body.data.id;
      people.merged = (await post("identity/entity")).body.data.id;
      await post("identity/entity/merge", { to_entity_id: target, from_entity_ids: [people.merged] });
    },
    // A token of the merged entity would become one of Ann.
    forge: `UPDATE merged SET target = 'ann'`,
    ask: async () => (await homeOfMerged().entity(people.merged)) !== null,
    before: true,
    after: false,
  },
  {
    kind: "entity name",
    table: "entity_names",
    object: async () => identityOf(bindings),
    make: async () => {},
    // Who writes the entity by its name would write another one.
    forge: `UPDATE entity_names SET entity_id = 'another'`,
    ask: async () => (await identityOf(bindings).entityOfName("ann")) === people.entity,
    before: true,
    after: false,
  },
  {
    kind: "group",
    table: "groups",
    object: async () => identityOf(bindings),
    make: async () => {
      const body = { name: "inner", policies: ["inner"], member_entity_ids: [people.entity] };
      people.group = (await post("identity/group", body)).body.data.id;
    },
    forge: `UPDATE groups SET policies = '[]' WHERE name = 'inner'`,
    ask: policiesOfAnn,
    before: ["inner", "web"],
    after: null,
  },
  {
    kind: "group in group",
    table: "group_groups",
    object: async () => identityOf(bindings),
    make: async () => {
      await post("identity/group", { name: "outer", policies: ["outer"], member_group_ids: [people.group] });
      people.other = (await post("identity/group", { name: "admins", policies: ["admin"] })).body.data.id;
    },
    forge:
      "INSERT INTO group_groups (group_id, member_id) SELECT a.id, i.id FROM groups a, groups i WHERE a.name = 'admins' AND i.name = 'inner'",
    ask: policiesOfAnn,
    before: ["inner", "outer", "web"],
    after: null,
  },
  {
    kind: "group member",
    table: "group_entities",
    object: async () => identityOf(bindings),
    make: async () => {},
    forge:
      "INSERT INTO group_entities (group_id, entity_id) SELECT g.id, e.entity_id FROM groups g, entity_names e WHERE g.name = 'admins'",
    // The home of the entity gets its groups with the next change of these or of its name.
    ask: async () => {
      await identityOf(bindings).nameEntity(people.entity, "ann", null);
      return policiesOfAnn();
    },
    before: ["inner", "outer", "web"],
    after: null,
  },
  {
    kind: "group alias",
    table: "group_aliases",
    object: async () => identityOf(bindings),
    make: async () => {
      const group = (await post("identity/group", { name: "mapped", type: "external" })).body.data.id;
      const body = { name: "ops", mount_accessor: people.mount, canonical_id: group };
      expect((await post("identity/group-alias", body)).status).toBe(200);
    },
    forge: "UPDATE group_aliases SET name = 'everybody', name_key = 'everybody'",
    ask: async () => (await identityOf(bindings).readGroupAlias({ name: "ops", mountAccessor: people.mount })) !== null,
    before: true,
    after: false,
  },
  {
    kind: "entity",
    table: "entities",
    object: async () => shardAt(bindings, robotAlias()),
    make: () => robot(),
    forge: `UPDATE entities SET content = replace(content, '"Robot"', '"Ann"') WHERE alias_key = 'robot'`,
    ask: robot,
    before: "Robot",
    after: null,
  },
  {
    kind: "team token",
    table: "tokens",
    object: async () => teamAt(bindings, teamRoute(team.id)),
    make: async () => {
      await createOrganization(root, "acme");
      team.id = await createTeam(root, "acme", "Machines");
      team.token = (await generateToken(root, team.id)).text;
    },
    forge: `UPDATE tokens SET record = replace(record, '"expiresAt":null', '"expiresAt":9e15')`,
    ask: () => statusOfTeam(),
    before: 200,
    after: 401,
  },
  {
    kind: "team",
    table: "team",
    object: async () => teamAt(bindings, teamRoute(team.id)),
    make: async () => {},
    forge: `UPDATE team SET record = replace(record, '"tokenPolicies":[]', '"tokenPolicies":["root"]')`,
    ask: () => statusOfTeam(),
    before: 200,
    after: 401,
  },
  {
    kind: "webhook",
    table: "webhooks",
    object: async () => organizationNamed(bindings, "acme"),
    make: () =>
      api("POST", "organizations/acme/notification-configurations", {
        token: root,
        body: resource("notification-configurations", { name: "pager", url: "https://hooks.example.com/" }),
      }),
    forge: `UPDATE webhooks SET record = replace(record, 'hooks.example.com', 'elsewhere.example.com')`,
    ask: async () => (await organizationNamed(bindings, "acme").webhooks("acme"))?.map(({ url }) => url),
    before: ["https://hooks.example.com/"],
    after: [],
  },
  {
    kind: "organization",
    table: "organization",
    object: async () => organizationNamed(bindings, "acme"),
    make: async () => {},
    forge: `UPDATE organization SET record = replace(record, '"email"', '"maxTtls":{"team":9e15},"email"')`,
    ask: () => statusOfTeam(),
    before: 200,
    after: 401,
  },
];

/** What the cases about identity share. */
const people = { entity: "", merged: "", mount: "", group: "", other: "" };
/** What the cases about teams share. */
const team = { id: "", token: "" };

/** What the team is answered when it looks at itself; the team has forgotten when it last asked its organization. */
async function statusOfTeam(): Promise<number> {
  const stub = teamAt(bindings, teamRoute(team.id));
  await stub.show();
  await evictDurableObject(stub);
  return (await api("GET", "account/details", { token: team.token })).status;
}

const homeOfMerged = () => entityShard(bindings, shardOfEntity(people.merged) ?? 0);
const homeOfAnn = () => entityShard(bindings, shardOfEntity(people.entity) ?? 0);

/** The policies that an entity and its groups give; null for none that counts. */
async function policiesOfAnn(): Promise<readonly string[] | null> {
  const state = await homeOfAnn().entity(people.entity);
  const groups = await identityOf(bindings).allGroups(null);
  if (!state || "mergedInto" in state) return null;
  return groups && (entityView(state, new GroupDirectory(groups))?.policies ?? null);
}

const robotAlias = () => ({ mountAccessor: people.mount, name: "Robot" });

/** The name that the entity of a login has on its mount; null when the login is refused. */
async function robot(): Promise<string | null> {
  const said = { metadata: null, customMetadata: {} };
  const newId = newEntityId(shardOfAlias(robotAlias()));
  const found = await shardAt(bindings, robotAlias()).logIn(robotAlias(), said, newId, null, NOW);
  return found.ok && "state" in found.value ? (found.value.state.entity.aliases[people.mount]?.name ?? null) : null;
}

/** What tidy finds in an object. A team checks its seals when its organization compares it with what it knows. */
const checked = (stub: DurableObjectStub): Promise<CheckedRows> =>
  team.id !== "" && stub.id.equals(teamAt(bindings, teamRoute(team.id)).id)
    ? (stub as DurableObjectStub<Team>).compare("")
    : (stub as DurableObjectStub<CloudAuth>).checkSeals(null);

/** Puts the rows of a table back as they were. */
async function restore(stub: DurableObjectStub, table: string, rows: readonly StoredRow[]): Promise<void> {
  await deleteRows(stub, table);
  await insertRows(stub, table, rows);
}

describe.each(CASES)("a row of the kind $kind", ({ kind, table, object, make, forge, ask, before, after }) => {
  it("that was changed in the storage is refused, on record, and counted by tidy", async () => {
    await make();
    const stub = await object();
    const rows = await rowsOf(stub, table);
    expect(await ask()).toEqual(before);
    const log = vi.spyOn(console, "error").mockReturnValue(undefined);

    await writeStorage(stub, forge);
    expect(await ask()).toEqual(after);
    expect((await checked(stub)).tampered).toBeGreaterThanOrEqual(1);
    const id = stub.id.toString();
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    expect(lines).toContainEqual({ type: "tampering", kind, object: id, row: expect.anything() });

    await restore(stub, table, rows);
    await evictDurableObject(stub);
    expect(await ask()).toEqual(before);
  });

  it("is refused without a seal", async () => {
    const stub = await object();
    const rows = await rowsOf(stub, table);
    vi.spyOn(console, "error").mockReturnValue(undefined);
    await writeStorage(stub, `UPDATE ${table} SET seal = NULL`);
    expect(await ask()).toEqual(after);
    await restore(stub, table, rows);
    await evictDurableObject(stub);
    forgetInstallation();
  });
});

describe("a row without a seal", () => {
  const aliased = async () => {
    const group = (await post("identity/group", { type: "external" })).body.data.id;
    return post("identity/group-alias", { name: "again", mount_accessor: people.mount, canonical_id: group });
  };
  const watermark = { id: "again", scope: "entity:again", createdBefore: null } as const;

  it.each([
    ["entity_names", "name", identityOf, () => post("identity/entity", { name: "again" })],
    ["groups", "name", identityOf, () => post("identity/group", { name: "again" })],
    ["group_aliases", "name", identityOf, aliased],
    ["watermarks", "id", systemOf, () => systemOf(bindings).addWatermark(watermark, Date.now())],
  ] as const)("of %s gives way to one of the same %s", async (table, column, objectOf, write) => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const first = await write();
    await writeStorage(objectOf(bindings), `UPDATE ${table} SET seal = NULL WHERE ${column} = 'again'`);
    const second = await write();
    const done = "ok" in first ? { ok: true } : { status: 200 };
    expect([first, second]).toMatchObject([done, done]);
  });
});

it("tidy checks them all, and gives no row a seal that lacks one", async () => {
  expect(await tidyNow()).toMatchObject({ sealed: 0, tampered: 0, failures: 0 });
  for (const { object, table } of CASES) await writeStorage(await object(), `UPDATE ${table} SET seal = NULL`);
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const report = await tidyNow();
  expect(report.sealed).toBe(0);
  expect(report.tampered).toBeGreaterThanOrEqual(CASES.length);
  for (const { object, table } of CASES) {
    expect((await rowsOf(await object(), table)).every(({ seal }) => seal === null)).toBe(true);
  }
});

it("the check of an object goes on after as many rows as a step reads, in the same table and in the next one", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const { rows } = await importKeys(newKeyRing(0));
  const stub = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
  await runInDurableObject(stub, (_, { id, storage: { sql } }) => {
    const seals = new RowSeals(id.toString(), () => rows);
    for (const [table, part, count] of [["many", "z", 250] as const, ["others", "a", 60] as const]) {
      sql.exec(`CREATE TABLE ${table} (part TEXT, name INTEGER, value TEXT, seal BLOB, PRIMARY KEY (part, name))`);
      const sealed = new SealedTable(sql, seals, { table, kind: "policy", key: ["part", "name"], sealed: ["value"] });
      for (let name = 1; name <= count; name++) sealed.put({ part, name, value: "rules" });
      sql.exec(`UPDATE ${table} SET seal = NULL WHERE name = ?`, count);
    }
    const tampered: number[] = [];
    for (let from: SealPosition | null | undefined; from !== null; ) {
      const step = seals.checkStep(from ?? null);
      tampered.push(step.tampered);
      from = step.next;
    }
    expect(tampered).toEqual([0, 2]);
  });
});
