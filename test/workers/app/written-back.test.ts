import { beforeAll, expect, it, vi } from "vitest";
import { compare } from "../../../scripts/declare/compare-fields.ts";
import { pathProblem } from "../../../scripts/declare/declarable-paths.ts";
import type { Json } from "../../../scripts/declare/value-references.ts";
import { TEAM_ROUTES } from "../../../src/api/team/routes.ts";
import { distinctTypes } from "../../../src/app/route-tables.ts";
import { TABLES } from "../../../src/app/routes.ts";
import type { Route } from "../../../src/auth/route.ts";
import { identityOf } from "../../../src/identity/stubs.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import aws from "../../conformance/aws.json" with { type: "json" };
import { initializedAlone } from "../../support/audit-store.ts";
import { newIssuer } from "../../support/issuer.ts";
import { bindings, call, tokenUnder } from "../../support/service.ts";
import { api, createOrganization, createTeam, resource } from "../../support/teams.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A record, and the fields of a read that a second write changes. A route has one with no field at its default. */
interface Example {
  /** Below `v1/`; `MOUNT` is the path of a mount of each type, other words in capitals are ids that are made before. */
  readonly path: string;
  readonly fields: Fields;
  readonly changes?: readonly string[];
}

/** In PEM. */
const CERTIFICATE = atob(aws.find(({ name }) => name === "certificate write")?.body?.aws_public_cert ?? "");
const POLICY = 'path "secret/*" { capabilities = ["read", "list"] }\n';
const TOKEN = {
  ...{ token_policies: ["a", "b"], token_ttl: 60, token_max_ttl: 120, token_explicit_max_ttl: 90, token_num_uses: 7 },
  ...{ token_no_default_policy: true, token_bound_cidrs: ["10.0.0.0/8"], token_period: 30, token_type: "service" },
};
const VM_ROLE = {
  ...{ auth_type: "ec2", bound_ami_id: ["ami-1"], bound_account_id: ["111111111111"], bound_region: ["us-east-1"] },
  ...{ bound_vpc_id: ["vpc-1"], bound_subnet_id: ["subnet-1"], bound_ec2_instance_id: ["i-1"], role_tag: "tag" },
  ...{
    bound_iam_instance_profile_arn: ["arn:aws:iam::111111111111:instance-profile/*"],
    allow_instance_migration: true,
  },
  ...{ bound_iam_role_arn: ["arn:aws:iam::111111111111:role/*"], ...TOKEN },
};
const IAM_ROLE = {
  ...{ auth_type: "iam", bound_iam_principal_arn: ["arn:aws:iam::111111111111:role/a"], ...TOKEN },
  ...{ resolve_aws_unique_ids: false, inferred_entity_type: "ec2_instance", inferred_aws_region: "us-east-1" },
  ...{ bound_ami_id: ["ami-1"] },
};
/** The same in the words of a mount of the type `cloud`. */
const inCloudWords = (fields: Fields): Fields =>
  JSON.parse(
    JSON.stringify(fields)
      .replaceAll("ec2_instance", "vm_instance")
      .replaceAll('"ec2', '"vm')
      .replaceAll("ami_id", "image_id")
      .replaceAll("_aws_", "_cloud_")
      .replaceAll("aws_public_cert", "cloud_public_cert"),
  );

const LIST_TIDY = { safety_buffer: 3600, disable_periodic_tidy: true };
const CLOUD_EXAMPLES: Readonly<Record<string, Fields | readonly Fields[]>> = {
  "config/client": [
    {},
    {
      ...{ access_key: "AKIA1", secret_key: "secret", endpoint: "https://ec2.example.com", max_retries: 3 },
      ...{ iam_endpoint: "https://iam.example.com", sts_endpoint: "https://sts.example.com", sts_region: "eu-west-1" },
      ...{ iam_server_id_header_value: "grove.example", allowed_sts_header_values: ["X-Custom"] },
      ...{ use_sts_region_from_client: true },
    },
    {
      ...{ access_key: "", secret_key: "", role_arn: "arn:aws:iam::111111111111:role/a", identity_token_ttl: 600 },
      ...{ identity_token_audience: "a", identity_token_key: "k" },
    },
  ],
  "config/identity": {
    iam_alias: "unique_id",
    iam_metadata: ["account_id"],
    ec2_alias: "image_id",
    ec2_metadata: ["region"],
  },
  "config/certificate/NAME": { aws_public_cert: CERTIFICATE, type: "identity" },
  "config/sts/222222222222": { sts_role: "arn:aws:iam::222222222222:role/a", external_id: "id" },
  "config/tidy/identity-accesslist": LIST_TIDY,
  "config/tidy/identity-whitelist": LIST_TIDY,
  "config/tidy/roletag-denylist": LIST_TIDY,
  "config/tidy/roletag-blacklist": LIST_TIDY,
  "role/NAME": [
    VM_ROLE,
    IAM_ROLE,
    { bound_iam_principal_arn: ["arn:aws:iam::111111111111:role/*"] },
    { auth_type: "ec2", bound_ami_id: ["ami-1"] },
  ],
};

/** Records, by the path of their route. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  "sys/rotate/config": [{ path: "sys/rotate/config", fields: { enabled: true, interval: "25h" } }],
  "sys/rotate/keyring/config": [{ path: "sys/rotate/keyring/config", fields: { enabled: true, interval: "25h" } }],
  "sys/policy/:name{.+}": [{ path: "sys/policy/one", fields: { policy: POLICY }, changes: ["modified", "version"] }],
  "sys/policies/acl/:name{.+}": [
    { path: "sys/policies/acl/two", fields: { policy: POLICY }, changes: ["modified", "version"] },
    {
      path: "sys/policies/acl/three",
      fields: {
        ...{ policy: POLICY, expiration: "2999-01-02T03:04:05.000Z" },
        ...{ allow_slashes_in_identity_templates: true, allow_wildcards_in_identity_templates: true },
      },
      changes: ["modified", "version"],
    },
  ],
  "sys/auth/:path{.+/tune}": [
    { path: "sys/auth/aws/tune", fields: {} },
    { path: "sys/auth/aws/tune", fields: { not_before: "2026-01-02T03:04:05.000Z" } },
    {
      path: "sys/auth/jwt/tune",
      fields: {
        ...{ default_lease_ttl: 60, max_lease_ttl: 120, description: "d", location_hint: "weur" },
        ...{ passthrough_request_headers: ["X-A"], allowed_response_headers: ["X-B"] },
        ...{ audit_non_hmac_request_keys: ["a"], audit_non_hmac_response_keys: ["b"] },
      },
    },
  ],
  "sys/mounts/auth/:path{.+/tune}": [
    {
      path: "sys/mounts/auth/jwt/tune",
      fields: { token_type: "batch", listing_visibility: "unauth", description: "e" },
    },
  ],
  "sys/quotas/rate-limit/:name{\\w(?:[\\w.-]*\\w)?}": [
    {
      path: "sys/quotas/rate-limit/q",
      fields: { path: "auth/jwt/", role: "ci", rate: 99, interval: 7, block_interval: 8 },
    },
    { path: "sys/quotas/rate-limit/least", fields: { rate: 1_000_000 } },
  ],
  "sys/quotas/config": [{ path: "sys/quotas/config", fields: { enable_rate_limit_response_headers: true } }],
  "identity/entity/id/:id": [
    {
      path: "identity/entity/id/ENTITY",
      fields: { metadata: { a: "b" }, policies: ["p"], disabled: true },
      changes: ["last_update_time"],
    },
  ],
  "identity/entity/name/:name{.+}": [
    {
      path: "identity/entity/name/ann",
      fields: { metadata: { a: "c" }, policies: ["q"] },
      changes: ["last_update_time"],
    },
  ],
  "identity/entity-alias/id/:id": [
    {
      path: "identity/entity-alias/id/ALIAS",
      fields: { name: "n", custom_metadata: { a: "b" } },
      changes: ["last_update_time"],
    },
  ],
  "identity/group/id/:id": [
    {
      path: "identity/group/id/GROUP",
      fields: {
        ...{ metadata: { a: "b" }, policies: ["p"], member_entity_ids: ["ENTITY"], member_group_ids: ["INNER-GROUP"] },
      },
      changes: ["last_update_time", "modify_index"],
    },
    {
      path: "identity/group/id/EXTERNAL-GROUP",
      fields: { metadata: { a: "c" } },
      changes: ["last_update_time"],
    },
    {
      path: "identity/group/id/INNER-GROUP",
      fields: {},
      changes: ["last_update_time"],
    },
  ],
  "identity/group/name/:name{.+}": [
    {
      path: "identity/group/name/crew",
      fields: { metadata: { a: "c" }, policies: ["q"] },
      changes: ["last_update_time", "modify_index"],
    },
  ],
  "identity/group-alias/id/:id": [
    {
      path: "identity/group-alias/id/GROUP-ALIAS",
      fields: { name: "n", mount_accessor: "ACCESSOR" },
      changes: ["last_update_time"],
    },
  ],
  "identity/oidc/config": [{ path: "identity/oidc/config", fields: { issuer: "https://grove.example.com" } }],
  "identity/oidc/key/:name": [
    { path: "identity/oidc/key/least", fields: {} },
    {
      path: "identity/oidc/key/k",
      fields: { algorithm: "ES256", rotation_period: 7200, verification_ttl: 3600, allowed_client_ids: ["*"] },
    },
  ],
  "identity/oidc/role/:name": [
    { path: "identity/oidc/role/least", fields: { key: "least" } },
    {
      path: "identity/oidc/role/r",
      fields: { key: "k", ttl: 600, client_id: "client", template: '{"a":{{identity.entity.name}}}' },
    },
  ],
  "token/roles/:role_name{\\w(?:[\\w.-]*\\w)?}": [
    { path: "auth/token/roles/least", fields: {} },
    {
      path: "auth/token/roles/r",
      fields: {
        ...{
          allowed_policies: ["a"],
          disallowed_policies: ["b"],
          orphan: true,
          renewable: false,
          path_suffix: "suffix",
        },
        ...{ allowed_policies_glob: ["c*"], disallowed_policies_glob: ["d*"], allowed_entity_aliases: ["e"] },
        ...{
          token_explicit_max_ttl: 90,
          token_period: 30,
          token_bound_cidrs: ["10.0.0.0/8"],
          token_num_uses: 3,
          token_type: "service",
        },
      },
    },
  ],
  "jwt/config": [
    {
      path: "auth/jwt/config",
      fields: { jwt_validation_pubkeys: ["PEM"], bound_issuer: "i", default_role: "r", jwt_supported_algs: ["ES256"] },
    },
  ],
  "jwt/role/:name{\\w(?:[\\w.-]*\\w)?}": [
    { path: "auth/jwt/role/least", fields: { user_claim: "sub", bound_subject: "s" } },
    {
      path: "auth/jwt/role/r",
      fields: {
        ...{
          role_type: "jwt",
          user_claim: "/sub",
          user_claim_json_pointer: true,
          groups_claim: "groups",
          bound_subject: "s",
        },
        ...{
          bound_audiences: ["a"],
          bound_claims: { a: ["b"] },
          claim_mappings: { a: "b" },
          bound_claims_type: "glob",
        },
        ...{ expiration_leeway: 1, not_before_leeway: 2, clock_skew_leeway: 3, ...TOKEN },
      },
    },
    {
      path: "auth/jwt/role/browser",
      fields: {
        ...{ role_type: "oidc", user_claim: "sub", allowed_redirect_uris: ["http://localhost:8250/oidc/callback"] },
        ...{ oidc_scopes: ["email"], callback_mode: "direct", poll_interval: 7, max_age: 60 },
      },
    },
  ],
  "kubernetes/config": [
    { path: "auth/kubernetes/config", fields: { kubernetes_host: "cluster.example.com:6443" } },
    {
      path: "auth/kubernetes/config",
      fields: {
        ...{
          kubernetes_host: "https://cluster.example.com",
          token_reviewer_jwt: "a.b.c",
          pem_keys: ["PEM"],
          issuer: "i",
        },
        ...{ disable_iss_validation: false, disable_local_ca_jwt: true, use_annotations_as_alias_metadata: true },
      },
    },
  ],
  "kubernetes/role/:name{\\w(?:[\\w.-]*\\w)?}": [
    {
      path: "auth/kubernetes/role/least",
      fields: { bound_service_account_names: ["*"], bound_service_account_namespaces: ["*"] },
    },
    {
      path: "auth/kubernetes/role/r",
      fields: {
        ...{ bound_service_account_names: ["api-*"], bound_service_account_namespaces: ["web"], audience: "a" },
        bound_service_account_namespace_selector: '{"matchLabels": {"team": "web"}}',
        ...{ alias_name_source: "serviceaccount_name", ...TOKEN },
      },
    },
  ],
  ...appRoleExamples(),
  ...cloudExamples("aws", (fields) => fields),
  ...cloudExamples("cloud", inCloudWords),
};

function appRoleExamples(): Record<string, Example[]> {
  const pattern = "approle/role/:role_name{\\w(?:[\\w.-]*\\w)?}";
  const whole = {
    ...{ secret_id_bound_cidrs: ["10.0.0.0/8"], secret_id_num_uses: 5, secret_id_ttl: 600, ...TOKEN },
    ...{ token_ends_with_secret_id: true, token_explicit_max_ttl: 90, token_period: 30 },
  };
  const parts: Readonly<Record<string, Fields>> = {
    "role-id": { role_id: "chosen" },
    policies: { token_policies: ["c"] },
    "bound-cidr-list": { bound_cidr_list: ["10.1.0.0/16"] },
    "secret-id-bound-cidrs": { secret_id_bound_cidrs: ["10.2.0.0/16"] },
    "token-bound-cidrs": { token_bound_cidrs: ["10.3.0.0/16"] },
    "bind-secret-id": { bind_secret_id: true },
    "secret-id-num-uses": { secret_id_num_uses: 3 },
    "secret-id-ttl": { secret_id_ttl: 300 },
    period: { token_period: 60 },
    "token-num-uses": { token_num_uses: 4 },
    "token-ttl": { token_ttl: 61 },
    "token-max-ttl": { token_max_ttl: 121 },
  };
  const ofPart = ([part, fields]: readonly [string, Fields]) =>
    [`${pattern}/${part}`, [{ path: `auth/approle/role/r/${part}`, fields }]] as const;
  const roles = [
    { path: "auth/approle/role/least", fields: {} },
    { path: "auth/approle/role/r", fields: whole },
  ];
  return { [pattern]: roles, ...Object.fromEntries(Object.entries(parts).map(ofPart)) };
}

function cloudExamples(type: string, words: (fields: Fields) => Fields): Record<string, Example[]> {
  const name = "{\\w(?:[\\w.-]*\\w)?}";
  const entries = Object.entries(CLOUD_EXAMPLES).map(([path, fields]) => {
    const pattern = path
      .replace("role/NAME", `role/:role${name}`)
      .replace("certificate/NAME", `certificate/:cert_name${name}`)
      .replace("sts/222222222222", `sts/:account_id${name}`);
    const examples = [fields].flat().map((one, at) => ({
      path: `auth/${type}/${path.replace("NAME", `n${at}`)}`,
      fields: words(one),
    }));
    return [`${type}/${pattern}`, examples] as const;
  });
  return Object.fromEntries(entries);
}

/** Routes that read and write, but no record. */
const NO_RECORDS: Readonly<Record<string, string>> = {
  "sys/audit/events": "a question, with a token in its body",
  "sys/init": "is done once",
  "sys/generate-root-token/attempt": "begins an attempt",
  "sys/generate-root/attempt": "begins an attempt",
  "sys/auth/:path{.+}": "an enabled mount is tuned",
  "sys/backup/runs": "begins a run",
  "sys/wrapping/lookup": "a question",
  "identity/entity/id/:id/not-before": "ends tokens",
  "sys/internal/specs/openapi": "a question",
  "jwt/oidc/callback": "ends a login",
  "token/lookup-self": "a question",
  "token/lookup": "a question",
  cubbyhole: "is whatever was written",
  "cubbyhole/": "is whatever was written",
  "cubbyhole/:path{.+}": "is whatever was written",
  ...Object.fromEntries(
    ["aws", "cloud"].flatMap((type) =>
      ["denylist", "blacklist"].map((list) => [`${type}/roletag-${list}/:role_tag{.+}`, "ends what a tag allows"]),
    ),
  ),
};

let root: string;
const ids: Record<string, string> = {};

beforeAll(async () => {
  root = await initializedAlone();
  for (const type of ["jwt", "approle", "aws", "cloud", "kubernetes"]) await post(`sys/auth/${type}`, { type });
  const { accessor } = (await get("sys/auth/jwt")) as { accessor: string };
  ids.ACCESSOR = accessor;
  ids.PEM = (await newIssuer("ES256")).pem;
  ids.ENTITY = await made("identity/entity", { name: "Ann" });
  ids.ALIAS = await made("identity/entity-alias", { name: "a", mount_accessor: accessor, canonical_id: ids.ENTITY });
  ids.GROUP = await made("identity/group", { name: "crew" });
  ids["INNER-GROUP"] = await made("identity/group", { name: "inner" });
  const [alias, canonical_id] = [
    { name: "n", mount_accessor: accessor },
    await made("identity/group", { name: "external", type: "external" }),
  ];
  ids["EXTERNAL-GROUP"] = canonical_id;
  ids["GROUP-ALIAS"] = await made("identity/group-alias", { ...alias, canonical_id });
  await identityOf(bindings).setLoginGroups(ids.ENTITY, accessor, [alias.name]);
  await post("identity/oidc/key/k", { allowed_client_ids: "*" });
});

const post = (path: string, body: Fields) => call("POST", path, { token: root, body });
const made = async (path: string, body: Fields): Promise<string> => (await post(path, body)).body.data.id;

async function get(path: string): Promise<Fields> {
  const answer = await call("GET", path, { token: root });
  expect(answer.status).toBe(200);
  return answer.body.data as unknown as Fields;
}

/** Routes by their path, with the type of a mount before it. */
function routesByPath(): ReadonlyMap<string, readonly Route[]> {
  const named = [
    ...TABLES.fixed.routes,
    ...distinctTypes(TABLES).flatMap(([type, { routes }]) =>
      routes.map((route) => ({ ...route, path: `${type}/${route.path}` })),
    ),
  ];
  return Map.groupBy(named, ({ path }) => path);
}

/** Paths of the routes that read and write. */
function readAndWritten(): string[] {
  const has = (routes: readonly Pick<Route, "operations">[], name: Operation) =>
    routes.some(({ operations }) => operations.includes(name));
  return [...routesByPath()].filter(([, routes]) => has(routes, "read") && has(routes, "update")).map(([path]) => path);
}

it("every route that reads and writes has an example here, or no record", () => {
  const known = [...Object.keys(EXAMPLES), ...Object.keys(NO_RECORDS)];
  expect(readAndWritten().filter((path) => !known.includes(path))).toEqual([]);
  expect(known.filter((path) => !readAndWritten().includes(path))).toEqual([]);
});

/** Parts of a role, which a declaration writes with the role. */
const PART_OF_ROLE = /^auth\/approle\/role\/[^/]+\/(?!role-id$)/;

it("every record that has a name of its own can be declared in a file, and nothing else", () => {
  const paths = Object.values(EXAMPLES).flatMap((examples) => examples.map(({ path }) => path));
  const isNamed = (path: string) => !path.includes("/id/") && !PART_OF_ROLE.test(path);
  expect(paths.filter((path) => (pathProblem(path) === null) !== isNamed(path))).toEqual([]);
  const others = Object.keys(NO_RECORDS).map((pattern) => {
    const path = pattern.replaceAll(/:\w+(?:\{[^}]*\})?/g, "x").replace(/\/$/, "/x");
    return /^(?:aws|cloud|token)\//.test(path) ? `auth/${path}` : path;
  });
  // An auth method is enabled, and tuned from then on.
  expect(others.filter((path) => pathProblem(path) === null)).toEqual(["sys/auth/x"]);
});

it.each(Object.values(EXAMPLES).flat())(
  "what was read at $path can be written back",
  async ({ path, fields, changes = [] }) => {
    const at = path
      .split("/")
      .map((segment) => ids[segment] ?? segment)
      .join("/");
    const sent = JSON.parse(JSON.stringify(fields), (_, value) => ids[value] ?? value);
    const written = await post(at, sent);
    expect([written.status, written.body?.errors]).toEqual([expect.toBeOneOf([200, 204]), undefined]);
    const read = await get(at);
    const again = await post(at, read);
    expect([again.status, again.body?.errors]).toEqual([expect.toBeOneOf([200, 204]), undefined]);
    const without = (record: Fields) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => !changes.includes(name)));
    expect(without(await get(at))).toEqual(without(read));
    expect(compare({ path: at, data: sent }, read).differences).toEqual([]);
    expect(read).toMatchObject(Object.fromEntries(Object.entries(sent).filter(([name]) => name in read)));
  },
);

/** Other forms of a value, which a server may take for the same one, for another, or for none. */
function formsOf(value: unknown): Json[] {
  if (typeof value === "boolean") return [String(value), value ? "1" : "0", ""];
  if (typeof value === "number") return [String(value), `${value}s`, "2m", "", 0, "system"];
  if (typeof value === "string" && /^\d{4}-.*\.000Z$/.test(value)) {
    return [value.replace(".000Z", "Z"), value.replace(".000Z", "+00:00"), Date.parse(value) / 1000, ""];
  }
  if (typeof value === "string")
    return [value.toUpperCase(), ` ${value} `, `${value}/`, value.replace(/\/$/, ""), "", "default"];
  if (!Array.isArray(value)) return [];
  const texts = value.map(String);
  return [texts.join(",,"), [...texts, "", ...texts], texts.map((text) => text.toUpperCase()), "", [], "default"];
}

it.each(
  Object.values(EXAMPLES)
    .flat()
    .filter(({ path }) => pathProblem(path) === null),
)("what was written to $path in other forms does not differ from what is read", async ({ path, fields }) => {
  const at = path
    .split("/")
    .map((segment) => ids[segment] ?? segment)
    .join("/");
  const sent = JSON.parse(JSON.stringify(fields), (_, value) => ids[value] ?? value);
  for (const [name, value] of Object.entries<Json>(sent)) {
    for (const form of formsOf(value)) {
      const data = { ...sent, [name]: form };
      const { status } = await post(at, data);
      expect(status).toBeLessThan(500);
      if (status >= 300) continue;
      const read = await get(at);
      expect(compare({ path: at, data }, read).differences).toEqual([]);
    }
  }
});

/** Fields that a read shows under another name than a write has. */
const RENAMED = ["rules", "secret_id_bound_cidrs"];
/** A text that fields of a time can have too. */
const SHOWN = "2026-01-02T03:04:05Z";

it("every field that can be declared is shown by a read, or known to be written only", () => {
  const paths = Object.entries(EXAMPLES).map(([pattern, [one]]) => [pattern, one?.path ?? ""] as const);
  const declarable = [...paths, ["sys/auth/:path{.+}", "sys/auth/x"] as const].filter(
    ([, path]) => pathProblem(path) === null,
  );
  const unknown = declarable.flatMap(([pattern, path]) => {
    const routes = routesByPath().get(pattern) ?? [];
    const read = routes.find(({ operations }) => operations.includes("read"));
    const written = routes.find(({ operations }) => operations.includes("update"));
    if (!read || written?.access !== "token") throw new Error(`${pattern} is not read and written`);
    const answer = JSON.stringify(read.description.answers);
    const isShown = (name: string) => answer.includes(`"${name}"`) || answer.includes(`"${name}?"`);
    const valued = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, SHOWN]));
    const outer = (name: string) => written.fieldName?.(name) ?? name;
    const names = written.fields.entries.map(([name]) => name);
    const current = valued([...names, ...RENAMED].filter((name) => isShown(name) || isShown(outer(name))).map(outer));
    const { differences } = compare({ path, data: valued(names.map(outer)) }, current);
    return differences.map(({ field }) => `${path}: ${field}`);
  });
  expect(unknown).toEqual([]);
});

it("the settings of a mount can be written back without sudo, with the time before which its tokens ended", async () => {
  const at = "sys/mounts/auth/aws/tune";
  const operator = await tokenUnder(root, `path "${at}" { capabilities = ["read", "update"] }`);
  await post("sys/auth/aws/tune", { not_before: "2026-01-02T03:04:06.000Z" });
  const read = await get(at);
  expect(read.not_before).toBe("2026-01-02T03:04:06.000Z");
  const write = (body: Fields) => call("POST", at, { token: operator, body });
  expect((await write({ ...read, description: "kept" })).status).toBe(204);
  expect((await write({ ...read, not_before: "2026-01-02T03:04:07.000Z" })).status).toBe(403);
  expect(await get(at)).toEqual({ ...read, description: "kept" });
});

it("what was read of organizations, teams and webhooks can be written back", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(null));
  const name = await createOrganization(root, "written-back");
  const team = await createTeam(root, name, "writers");
  const hooks = `organizations/${name}/notification-configurations`;
  const hook = { name: "pager", url: "https://hooks.example.com/", enabled: true, "destination-type": "generic" };
  const created = await api("POST", hooks, { token: root, body: resource("notification-configurations", hook) });
  const records: Readonly<Record<string, readonly [path: string, type: string]>> = {
    "organizations/:organization": [`organizations/${name}`, "organizations"],
    "teams/:team": [`teams/${team}`, "teams"],
    "organizations/:organization/notification-configurations/:id": [
      `${hooks}/${created.body.data.id}`,
      "notification-configurations",
    ],
  };
  const patched = TEAM_ROUTES.filter(({ operations }) => operations.includes("patch")).map(({ path }) => path);
  // The policies of an organization are read as a list.
  expect(patched.filter((path) => !path.endsWith("/token-ttl-policies")).sort()).toEqual(Object.keys(records).sort());
  for (const [path, type] of Object.values(records)) {
    const { attributes } = (await api("GET", path, { token: root })).body.data;
    const written = await api("PATCH", path, { token: root, body: resource(type, attributes) });
    expect(written.status).toBe(200);
    expect((await api("GET", path, { token: root })).body.data.attributes).toEqual({
      ...attributes,
      ...("updated-at" in attributes && { "updated-at": expect.any(String) }),
    });
  }
});
