import { JSON_API } from "../../src/api/json-api/dialect.ts";
import { distinctTypes } from "../../src/app/route-tables.ts";
import { TABLES } from "../../src/app/routes.ts";
import type { Route } from "../../src/auth/route.ts";
import type { Operation } from "../../src/policy/operation.ts";
import { newIssuer } from "./issuer.ts";
import { leaseFor } from "./leases.ts";
import { call, dataOf } from "./service.ts";
import { organizationWithTeam } from "./teams.ts";

/** An endpoint of the service with its full path, as the usual mounts have it. */
export interface Endpoint {
  readonly route: Route;
  readonly operation: Operation;
  /** Full path with the names of its parameters, without their patterns. */
  readonly pattern: string;
  readonly isTeams: boolean;
}

const METHODS = { update: "POST", patch: "PATCH", delete: "DELETE", list: "LIST" } as const;

/** Every endpoint with each of its operations. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...endpoints(TABLES.fixed.routes, ""),
  ...TABLES.apis.flatMap(({ routes, dialect }) => endpoints(routes, "", dialect === JSON_API)),
  ...distinctTypes(TABLES).flatMap(([type, { routes }]) => endpoints(routes, `auth/${type}/`)),
];

function endpoints(routes: readonly Route[], mount: string, isTeams = false): Endpoint[] {
  return routes.flatMap((route) =>
    route.operations.map((operation) => {
      const pattern = mount + route.path.replace(/:(\w+)\{\.\+\/tune\}/g, ":$1/tune").replace(/\{[^/]*\}/g, "");
      return { route, operation, pattern, isTeams };
    }),
  );
}

/** A request to an endpoint that is right in all but what a test changes. */
export interface Example {
  readonly method: string;
  readonly path: string;
  /** The fields of the body; of the interface of teams, the attributes of the resource. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The type of the resource; "" outside of the interface of teams. */
  readonly type: string;
}

type World = Awaited<ReturnType<typeof makeWorld>>;
type Fill = (name: string, world: World) => Readonly<Record<string, unknown>>;

/** Where the names in paths are not free: they name what is there. */
const PARAMETERS: Readonly<Record<string, (world: World) => string>> = {
  ":path/tune": () => "jwt/tune",
  "entity/id/:id": ({ entity }) => `entity/id/${entity}`,
  "group/id/:id": ({ group }) => `group/id/${group}`,
  "entity-alias/id/:id": ({ entityAlias }) => `entity-alias/id/${entityAlias}`,
  "group-alias/id/:id": ({ groupAlias }) => `group-alias/id/${groupAlias}`,
  "create/:role_name": () => "create/base",
  ":role/tag": () => "tagged/tag",
  ":organization": ({ organization }) => organization,
  ":team": ({ team }) => team,
  "config/sts/:account_id": () => "config/sts/123456789012",
  "key/:name/rotate": () => "key/base/rotate",
  "oidc/token/:name": () => "oidc/token/base",
};

const POLICY = 'path "cubbyhole/x" { capabilities = ["read"] }';
const CLOUD_ROLE = { auth_type: "iam", bound_iam_principal_arn: "arn:aws:iam::123456789012:role/app/*" };
const KUBERNETES_ROLE = { bound_service_account_names: "api", bound_service_account_namespaces: "web" };
const TARGET = "https://db.example.com/revoke";
const LOGIN = { role: "base", identity: "e30=", signature: "AAAA" };

/** What a request needs so that it is done, by operation and pattern. The others need nothing. */
const FIELDS: Readonly<Record<string, Fill>> = {
  "update sys/policy/:name": () => ({ policy: POLICY }),
  "update sys/policies/acl/:name": () => ({ policy: POLICY }),
  "patch sys/policies/acl/:name": () => ({ policy: POLICY }),
  "update sys/auth/:path": () => ({ type: "jwt" }),
  "update sys/remount": (name) => ({ from: "auth/jwt-moved", to: `auth/${name}` }),
  "update sys/quotas/rate-limit/:name": () => ({ rate: 1000, path: "cubbyhole/" }),
  "update sys/audit-hash/:path": () => ({ input: "x" }),
  "update sys/leases/lookup": (_, { lease }) => ({ lease_id: lease }),
  "update sys/leases/renew": (_, { lease }) => ({ lease_id: lease }),
  "update sys/leases/register": (_, { token }) => ({ token, path: "db/creds/app", ttl: 600, target: TARGET }),
  "update sys/leases/revoke": () => ({ lease_id: "db/creds/app/none" }),
  "update sys/tokens/revoke": () => ({ policy: "nobody-has-it" }),
  "update sys/tokens/verify-ended": (_, { accessor }) => ({ accessors: [accessor] }),
  "update sys/tokens/find": (_, { accessor }) => ({ accessor }),
  "update sys/capabilities": (_, { token }) => ({ token, paths: ["cubbyhole/x"] }),
  "update sys/capabilities-self": () => ({ paths: ["cubbyhole/x"] }),
  "update sys/capabilities-accessor": (_, { accessor }) => ({ accessor, paths: ["cubbyhole/x"] }),
  "update sys/capabilities-policy": () => ({ policy: POLICY, paths: ["cubbyhole/x"] }),
  "update sys/explain/access": (_, { token }) => ({ token, path: "cubbyhole/x" }),
  "update sys/explain/rules": (_, { token }) => ({ token }),
  "update sys/explain/policy": () => ({ policy: POLICY }),
  "update sys/explain/access-self": () => ({ path: "cubbyhole/x" }),
  "update identity/entity": (name) => ({ name }),
  "update identity/lookup/entity": (_, { entity }) => ({ id: entity }),
  "update identity/lookup/entities": (_, { entity }) => ({ ids: [entity] }),
  "update identity/lookup/group": (_, { group }) => ({ id: group }),
  "update identity/entity/batch-delete": () => ({ entity_ids: ["none"] }),
  "update identity/entity/id/:id/not-before": () => ({ not_before: "now" }),
  "update identity/entity-alias": (name, { accessorOfJwt }) => ({ name, mount_accessor: accessorOfJwt }),
  "update identity/entity-alias/id/:id": (_, { accessorOfJwt }) => ({ name: "alias", mount_accessor: accessorOfJwt }),
  "update identity/group": (name) => ({ name }),
  "update identity/group-alias": (name, { accessorOfJwt, external }) => ({
    name,
    mount_accessor: accessorOfJwt,
    canonical_id: external,
  }),
  "update identity/oidc/role/:name": () => ({ key: "base" }),
  "update identity/oidc/introspect": () => ({ token: "x" }),
  "update cubbyhole/:path": () => ({ a: "b" }),
  "update sys/wrapping/wrap": () => ({ a: "b" }),
  "update organizations": (name) => ({ name, email: "admin@example.com" }),
  "update organizations/:organization/teams": (name) => ({ name }),
  "patch organizations/:organization/token-ttl-policies": () => ({
    "token-ttl-policies": [{ "token-type": "team", "max-ttl-ms": 3_600_000 }],
  }),
  "update teams/:team/authentication-tokens": (name) => ({ description: name }),
  "update organizations/:organization/notification-configurations": (name) => ({
    name,
    url: "https://hooks.example.com/x",
    enabled: false,
    triggers: [],
    "destination-type": "generic",
  }),
  "update auth/token/lookup": (_, { token }) => ({ token }),
  "update auth/token/renew": (_, { token }) => ({ token }),
  "update auth/token/revoke": () => ({ token: "none" }),
  "update auth/token/revoke-orphan": () => ({ token: "none" }),
  "update auth/token/lookup-accessor": (_, { accessor }) => ({ accessor }),
  "update auth/token/renew-accessor": (_, { accessor }) => ({ accessor }),
  "update auth/token/revoke-accessor": () => ({ accessor: "none" }),
  "update auth/cloud/login": () => LOGIN,
  "update auth/aws/login": () => LOGIN,
  "update auth/cloud/explain/login": () => LOGIN,
  "update auth/aws/explain/login": () => LOGIN,
  "update auth/cloud/config/sts/:account_id": () => ({ sts_role: "arn:aws:iam::123456789012:role/grove" }),
  "update auth/aws/config/sts/:account_id": () => ({ sts_role: "arn:aws:iam::123456789012:role/grove" }),
  "update auth/cloud/role/:role": () => CLOUD_ROLE,
  "update auth/aws/role/:role": () => CLOUD_ROLE,
  "update auth/jwt/config": (_, { pem }) => ({ jwt_validation_pubkeys: pem }),
  "update auth/jwt/role/:name": () => ({ role_type: "jwt", user_claim: "sub", bound_audiences: "grove" }),
  "update auth/jwt/login": () => ({ role: "base", jwt: "a.b.c" }),
  "update auth/jwt/explain/login": () => ({ role: "base", jwt: "a.b.c" }),
  "update auth/jwt/oidc/auth_url": () => ({ role: "base", redirect_uri: "http://localhost:8250/oidc/callback" }),
  "update auth/jwt/oidc/callback": () => ({ state: "s", code: "c" }),
  "update auth/jwt/oidc/poll": () => ({ state: "s", client_nonce: "n" }),
  "update auth/kubernetes/config": () => ({ kubernetes_host: "https://cluster.example.com" }),
  "update auth/kubernetes/role/:name": () => KUBERNETES_ROLE,
  "update auth/kubernetes/login": () => ({ role: "base", jwt: "a.b.c" }),
  "update auth/kubernetes/explain/login": () => ({ role: "base", jwt: "a.b.c" }),
};

const TYPES: Readonly<Record<string, string>> = {
  "organizations/:organization/token-ttl-policies": "organization-token-ttl-policies",
  "organizations/:organization/teams": "teams",
  "organizations/:organization/authentication-token": "authentication-token",
  "teams/:team": "teams",
  "teams/:team/authentication-token": "authentication-token",
  "teams/:team/authentication-tokens": "authentication-tokens",
  "authentication-tokens/:id/actions/rotate": "authentication-tokens",
};

/** Makes what requests name: mounts, roles, an entity, a group, an organization, tokens. */
export async function makeWorld(root: string) {
  const made = async (path: string, body: Record<string, unknown> = {}) => {
    const answer = await call("POST", path, { token: root, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const { pem } = await newIssuer("RS256", "key-1");
  for (const type of ["jwt", "cloud", "aws", "kubernetes"]) await made(`sys/auth/${type}`, { type });
  await made("sys/auth/jwt-moved", { type: "jwt" });
  const mounts = await call("GET", "sys/auth", { token: root });
  const accessorOfJwt = dataOf<Record<string, { accessor: string }>>(mounts)["jwt/"]?.accessor ?? "";
  await made("auth/jwt/config", { jwt_validation_pubkeys: pem });
  await made("auth/jwt/role/base", { role_type: "jwt", user_claim: "sub", bound_audiences: "grove" });
  await made("auth/kubernetes/config", { kubernetes_host: "https://cluster.example.com" });
  await made("auth/kubernetes/role/base", KUBERNETES_ROLE);
  await made("auth/cloud/role/base", CLOUD_ROLE);
  await made("auth/aws/role/base", CLOUD_ROLE);
  for (const [mount, kind, image] of [
    ["cloud", "vm", "bound_image_id"],
    ["aws", "ec2", "bound_ami_id"],
  ] as const) {
    await made(`auth/${mount}/role/tagged`, { auth_type: kind, [image]: "ami-1", role_tag: "cap" });
  }
  await made("auth/token/roles/base", { allowed_policies: "default" });
  await made("identity/oidc/key/base", { allowed_client_ids: "*" });
  await made("identity/oidc/role/base", { key: "base" });
  const id = async (path: string, body: Record<string, unknown>) => (await made(path, body)).body.data.id;
  const entity = await id("identity/entity", { name: "entity" });
  const group = await id("identity/group", { name: "group" });
  const external = await id("identity/group", { name: "external", type: "external" });
  const alias = { mount_accessor: accessorOfJwt };
  const entityAlias = await id("identity/entity-alias", { ...alias, name: "alias", canonical_id: entity });
  const groupAlias = await id("identity/group-alias", { ...alias, name: "group-alias", canonical_id: external });
  const { client_token: token, accessor } = (
    await made("auth/token/create-orphan", { policies: ["default"], ttl: "10h" })
  ).body.auth;
  const lease = await leaseFor(root, token);
  const { organization, teamId: team } = await organizationWithTeam(root);
  return {
    ...{ pem, accessorOfJwt, entity, group, external, entityAlias, groupAlias },
    ...{ token, accessor, lease, organization, team },
  };
}

/** A right request to an endpoint. `name` is that of what it makes. */
export function exampleOf({ pattern, operation, isTeams }: Endpoint, name: string, world: World): Example {
  let path = pattern;
  for (const [part, value] of Object.entries(PARAMETERS)) {
    if (path.includes(part)) path = path.replace(part, value(world));
  }
  return {
    method: METHODS[operation as keyof typeof METHODS] ?? "GET",
    path: path.replace(/:\w+/g, name),
    fields: FIELDS[`${operation} ${pattern}`]?.(name, world) ?? {},
    type: isTeams ? (TYPES[pattern] ?? pattern.split("/")[2] ?? pattern) : "",
  };
}

/** Sends an example with these fields in the place of its own: in the body of a write, in the query of anything else. */
export function send({ method, path, type }: Example, fields: Readonly<Record<string, unknown>>, token: string) {
  if (["GET", "LIST", "DELETE"].includes(method)) {
    const query = new URLSearchParams(method === "LIST" ? { list: "true" } : {});
    for (const [name, value] of Object.entries(fields)) query.set(name, String(value));
    return call(method === "LIST" ? "GET" : method, query.size === 0 ? path : `${path}?${query}`, { token });
  }
  return sendRaw(
    { method, path, type },
    JSON.stringify(type === "" ? fields : { data: { type, attributes: fields } }),
    token,
  );
}

/** Sends an example with this body. */
export function sendRaw({ method, path, type }: Omit<Example, "fields">, raw: string, token: string) {
  const media = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "Content-Type": type === "" ? media : "application/vnd.api+json" };
  return call(method, path, { token, raw, headers });
}
