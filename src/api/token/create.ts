import * as z from "zod";
import { issue } from "../../auth/issue.ts";
import { authOfToken } from "../../auth/render.ts";
import { type Route, tokenRoute } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { MAX_META_LENGTH } from "../../base/limits.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { MAX_POLICY_NAME_LENGTH } from "../../policy/name.ts";
import type { Installation } from "../../system/installation.ts";
import { mountTtl } from "../../system/mount.ts";
import { withEntityOfAlias } from "../../token/entity-alias.ts";
import { newTokenIds } from "../../token/ids.ts";
import { tokenRoles } from "../../token/roles/token-roles.ts";
import type { CreateRequest } from "../../token/rules/create.ts";
import { type FieldSchema, flag, integer, looseDuration, pairs, text, textList } from "../../wire/fields.ts";
import type { AuthReply, Reply } from "../../wire/reply.ts";
import { ROLE_NAME } from "./roles.ts";

const FIELDS = z.object({
  id: text(),
  display_name: text(),
  policies: textList(),
  meta: pairs(),
  no_parent: flag(false),
  no_default_policy: flag(false),
  renewable: flag(true),
  lease: z.unknown().optional(),
  ttl: looseDuration(),
  explicit_max_ttl: looseDuration(),
  period: looseDuration(),
  num_uses: integer(),
  type: text(),
  entity_alias: text(),
});

const LEASE = z.object({ lease: looseDuration() });

type CreateFields = z.infer<typeof FIELDS>;

/** Longest display name as sent. */
const MAX_DISPLAY_NAME = 512;
/** Longest entity alias as sent. */
const MAX_ENTITY_ALIAS = 512;

/** `create`, `create-orphan` and `create/:role_name`. */
export const CREATE_ROUTES: readonly Route[] = [
  createRoute("create", FIELDS, false),
  createRoute("create-orphan", FIELDS, true),
  createRoute(`create/${ROLE_NAME}`, FIELDS.extend({ role_name: z.unknown().optional() }), false),
];

function createRoute(path: string, schema: FieldSchema<CreateFields>, orphanEndpoint: boolean): Route {
  return tokenRoute("update", path, TO_DESCRIBE, schema, {
    prepare: async ({ request, fields }) => {
      const lease = readLease(fields.lease, request.data.ttl);
      return lease.ok ? readCreateRequest(fields, lease.value, orphanEndpoint) : lease;
    },
    async action({ env, installation, params, presented, prepared }) {
      if (presented.kind !== "service") return null;
      const { role_name: name } = params;
      // The token of the request was made here, else it would not be read; so only what once was a caller gets this far.
      const role = name === undefined ? null : await tokenRoles(env).read(name);
      // Without its role the creation must not be tried at all: it would be one without the role's limits.
      if (name !== undefined && !role) return null;
      const startsTree = orphanEndpoint || role?.orphan === true;
      const ids = startsTree ? null : await newTokenIds(installation.keys, presented.credential.treeId, currentTime());
      const mount = mountTtl(installation.mountAt("token/"));
      return { kind: "create", request: prepared, role, mount, ids };
    },
    async handle({ env, installation, params, caller, action, outcome, prepared }) {
      if (caller.kind !== "service") return err(invalid(`${caller.kind} tokens cannot create more tokens`));
      if (!action && params.role_name !== undefined) return err(invalid(`unknown role ${params.role_name}`));
      if (!outcome || action?.kind !== "create") throw new Error("a creation comes with its outcome");
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

/** The lifetime by its oldest name, in seconds: it is not even read when the new name says something. */
function readLease(lease: unknown, ttl: unknown): Result<number, Failure> {
  if (ttl !== undefined && ttl !== null && ttl !== "") return ok(0);
  const read = LEASE.safeParse({ lease });
  return read.success ? ok(read.data.lease) : err(invalid("'lease' value could not be parsed"));
}

function readCreateRequest(
  fields: CreateFields,
  lease: number,
  orphanEndpoint: boolean,
): Result<CreateRequest, Failure> {
  if (JSON.stringify(fields.meta).length > MAX_META_LENGTH) return err(invalid("meta is too large"));
  if (fields.policies?.some((name) => name.length > MAX_POLICY_NAME_LENGTH)) {
    return err(invalid("the name of a policy is too long"));
  }
  if (fields.entity_alias.length > MAX_ENTITY_ALIAS) return err(invalid("entity_alias is too long"));
  if (fields.display_name.length > MAX_DISPLAY_NAME) return err(invalid("display_name is too long"));
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
