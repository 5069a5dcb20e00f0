import { issue } from "../../auth/issue.ts";
import { authOfToken } from "../../auth/render.ts";
import { type Route, tokenRoute } from "../../auth/route.ts";
import { AUTH, type RouteDescription } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_META_LENGTH } from "../../base/limits.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { entityForLogin } from "../../identity/login.ts";
import { nameProblem } from "../../identity/rules.ts";
import { MAX_POLICY_NAME_LENGTH } from "../../policy/name.ts";
import type { Installation } from "../../system/installation.ts";
import { mountTtl } from "../../system/mount.ts";
import type { TokenEnv } from "../../token/env.ts";
import { newTokenIds } from "../../token/ids.ts";
import type { TokenSpec } from "../../token/record.ts";
import { MAX_ROLE_NAME } from "../../token/roles/change.ts";
import { loadRole } from "../../token/roles/token-roles.ts";
import type { CreateRequest } from "../../token/rules/create.ts";
import {
  deprecated,
  fieldSchema,
  flag,
  integer,
  looseDuration,
  pairs,
  text,
  textList,
  unread,
  type Values,
} from "../../wire/fields.ts";
import { isName } from "../../wire/path-name.ts";
import { readFields } from "../../wire/read-fields.ts";
import type { AuthReply, Reply } from "../../wire/reply.ts";
import { ROLE_NAME } from "./roles.ts";

const NAMED_ROLE = fieldSchema({ role_name: text().describe("The role whose rules the token follows") });

const FIELDS = fieldSchema({
  ...NAMED_ROLE.shape,
  id: text().describe("The token itself, for root; else one is generated"),
  display_name: text().describe("A name for the audit log and for lists"),
  policies: textList().describe("Policies of the token; those of the caller unless said"),
  meta: pairs().describe("Texts by name that the token carries"),
  no_parent: flag(false).describe("True: the token has no parent, and does not end with the caller's"),
  no_default_policy: flag(false).describe("True: without the policy `default`"),
  renewable: flag(true).describe("False: it can't be renewed"),
  lease: deprecated(unread("string")).describe("Older name of `ttl`"),
  ttl: looseDuration().describe("How long it lives"),
  explicit_max_ttl: looseDuration().describe("How long it lives at most, whatever is renewed"),
  period: looseDuration().describe("Makes it periodic: each renewal lasts this long"),
  num_uses: integer().describe("Requests that it is good for; 0 for any number"),
  type: text().describe("`service` or `batch`"),
  entity_alias: text().describe("The alias, allowed by the role, whose entity the token belongs to"),
});

const LEASE = deprecated(looseDuration());

type CreateFields = Values<typeof FIELDS>;

/** Longest display name as sent. */
const MAX_DISPLAY_NAME = 512;
/** Longest entity alias as sent. */
const MAX_ENTITY_ALIAS = 512;

/** `create`, `create-orphan` and `create/:role_name`. */
export const CREATE_ROUTES: readonly Route[] = [
  createRoute("create", { summary: "Makes a token below the caller's.", operationId: "create" }, false),
  createRoute("create-orphan", { summary: "Makes a token without a parent.", operationId: "create-orphan" }, true),
  createRoute(
    `create/${ROLE_NAME}`,
    { summary: "Makes a token by the rules of a role.", operationId: "create-against-role" },
    false,
  ),
];

function createRoute(path: string, description: Omit<RouteDescription, "answers">, orphanEndpoint: boolean): Route {
  return tokenRoute("update", path, {
    ...description,
    answers: AUTH,
    input: FIELDS,
    canonicalPath,
    prepare: async ({ request, params, fields }) => {
      if (params.role_name === undefined && !isRoleNameOrNone(fields.role_name)) {
        return refuse("role_name is not the name of a role");
      }
      const lease = readLease(fields.lease, request.data.ttl);
      return lease.ok ? readCreateRequest(fields, lease.value, orphanEndpoint) : lease;
    },
    async action({ env, installation, params, fields, presented, prepared }) {
      if (presented.kind !== "service") return null;
      const name = params.role_name ?? fields.role_name;
      // The token of the request was made here, else it would not be read; so only what once was a caller gets this far.
      const role = name === "" ? null : await loadRole(env, name);
      // Without its role the creation must not be tried at all: it would be one without the role's limits.
      if (name !== "" && !role) return null;
      // Ids are generated for what the tree can write in this step; what the rules make of the request otherwise gets its own.
      const { noParent, type } = prepared;
      const isChild = role
        ? !role.orphan && role.tokenType !== "batch"
        : !orphanEndpoint && !noParent && type !== "batch";
      const ids = !isChild ? null : await newTokenIds(installation.keys, presented.credential.treeId, currentTime());
      const mount = mountTtl(installation.mountAt("token/"));
      return { kind: "create", request: prepared, role, mount, ids };
    },
    async handle({ env, installation, params, fields, caller, action, outcome, prepared }) {
      if (caller.kind !== "service") return refuse(`${caller.kind} tokens cannot create more tokens`);
      if (!action) return refuse(`unknown role ${params.role_name ?? fields.role_name}`);
      if (!outcome || action.kind !== "create") throw new Error("a creation comes with its outcome");
      if (!outcome.ok) return outcome;
      const { value } = outcome;
      if (value.kind === "created") {
        return created(installation, authOfToken(value.token, action.ids?.token ?? ""), value.warnings);
      }
      if (value.kind !== "planned") throw new Error(`a creation does not end in "${value.kind}"`);
      const spec = await withEntityOfAlias(env, installation, value.spec, prepared.entityAlias);
      if (!spec.ok) return spec;
      const issued = await issue(env, installation, spec.value, caller.token, prepared.id);
      return issued.ok ? created(installation, issued.value, value.warnings) : issued;
    },
  });
}

/**
 * The path of the role that the body names: policies decide about it as if it had been used. So who may not use that path gains
 * nothing by the body. A role in the path wins over one in the body.
 */
function canonicalPath(mountPath: string, data: Readonly<Record<string, unknown>>): string {
  if (mountPath.startsWith("create/")) return mountPath;
  const read = readFields(NAMED_ROLE, data);
  const name = read.ok ? read.value.values.role_name : "";
  return name !== "" && isRoleNameOrNone(name) ? `create/${name}` : mountPath;
}

function isRoleNameOrNone(name: string): boolean {
  return name === "" || (name.length <= MAX_ROLE_NAME && isName(name));
}

/** The lifetime by its oldest name, in seconds: it is not even read when the new name says something. */
function readLease(lease: unknown, ttl: unknown): Result<number> {
  if (ttl !== undefined && ttl !== null && ttl !== "") return ok(0);
  const read = LEASE.read(lease);
  return read.ok ? read : refuse("'lease' value could not be parsed");
}

function readCreateRequest(fields: CreateFields, lease: number, orphanEndpoint: boolean): Result<CreateRequest> {
  if (fields.meta && JSON.stringify(fields.meta).length > MAX_META_LENGTH) return refuse("meta is too large");
  if (fields.policies?.some((name) => name.length > MAX_POLICY_NAME_LENGTH)) {
    return refuse("the name of a policy is too long");
  }
  if (fields.entity_alias.length > MAX_ENTITY_ALIAS) return refuse("entity_alias is too long");
  if (fields.display_name.length > MAX_DISPLAY_NAME) return refuse("display_name is too long");
  return ok({
    id: fields.id,
    displayName: fields.display_name,
    policies: fields.policies,
    meta: fields.meta,
    noParent: fields.no_parent,
    noDefaultPolicy: fields.no_default_policy,
    renewable: fields.renewable,
    lease,
    ttl: fields.ttl,
    explicitMaxTtl: fields.explicit_max_ttl,
    period: fields.period,
    numUses: fields.num_uses,
    type: fields.type,
    entityAlias: fields.entity_alias,
    orphanEndpoint,
  });
}

function created(installation: Installation, auth: AuthReply, warnings: readonly string[]): Result<Reply, never> {
  const now = currentTime();
  const unknown = auth.tokenPolicies.filter((name) => !installation.hasPolicy(name, now));
  return ok({
    kind: "auth",
    auth,
    warnings: [...warnings, ...unknown.map((name) => `Policy ${JSON.stringify(name)} does not exist`)],
  });
}

/**
 * The token with the entity of the alias that its creator named, "" for none. Called when the rules have allowed the
 * creation and before anything of it is written, since this may make an entity.
 * Messages are the reference's (auth/token/create).
 */
async function withEntityOfAlias(
  env: TokenEnv,
  installation: Installation,
  spec: TokenSpec,
  aliasName: string,
): Promise<Result<TokenSpec>> {
  if (aliasName === "") return ok(spec);
  const problem = nameProblem("alias", aliasName);
  if (problem) return refuse(problem);
  const mount = installation.mountAt("token/");
  if (!mount) return refuse("auth token mount accessor not found");
  const found = await entityForLogin(env, { mountAccessor: mount.accessor, aliasName, metadata: null });
  if (!found.ok) return err({ code: "forbidden", message: "entity from given entity alias is disabled" });
  return ok({ ...spec, record: { ...spec.record, entityId: found.value.entity.id } });
}
