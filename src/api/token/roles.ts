import { listRoute, removeRoute, showRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute, tokenRoute, withParameters } from "../../auth/route.ts";
import { DONE_OR_WARNED, NO_CONTENT } from "../../auth/route-description.ts";
import { attempted, type CallAttempt, changedOnce } from "../../base/lost-call-retry.ts";
import { DENIED, err, ok } from "../../base/result.ts";
import { mountTtl } from "../../system/mount.ts";
import { type RenamedField, TOKEN_ROLE_FIELDS, type TokenRole } from "../../token/role.ts";
import { roleWriteFailure } from "../../token/roles/change-role.ts";
import { forgetRole, tokenRoles } from "../../token/roles/token-roles.ts";
import { strictSchema } from "../../wire/field-schema.ts";
import { namedSegment } from "../../wire/path-segment.ts";
import { warnedReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";
import { endedReply } from "../change-reply.ts";
import { endBelow } from "../end-tokens.ts";

/** A token role. A field with a deprecated name shows a value only if the role was written with that name. */
export const TOKEN_ROLE_VIEW = view<TokenRole>({
  name: ["string", (role) => role.name],
  allowed_policies: [["string"], (role) => role.allowedPolicies],
  disallowed_policies: [["string"], (role) => role.disallowedPolicies],
  allowed_policies_glob: [["string"], (role) => role.allowedPoliciesGlob],
  disallowed_policies_glob: [["string"], (role) => role.disallowedPoliciesGlob],
  allowed_entity_aliases: [["string"], (role) => role.allowedEntityAliases],
  orphan: ["boolean", (role) => role.orphan],
  renewable: ["boolean", (role) => role.renewable],
  path_suffix: ["string", (role) => role.pathSuffix],
  token_explicit_max_ttl: ["integer", (role) => role.tokenExplicitMaxTtl],
  explicit_max_ttl: ["integer", (role) => (byOldName(role, "explicit_max_ttl") ? role.tokenExplicitMaxTtl : 0)],
  token_period: ["integer", (role) => role.tokenPeriod],
  period: ["integer", (role) => (byOldName(role, "period") ? role.tokenPeriod : 0)],
  token_no_default_policy: ["boolean", (role) => role.tokenNoDefaultPolicy],
  token_type: ["string", (role) => role.tokenType],
  "token_bound_cidrs?": [["string"], boundCidrs],
  "bound_cidrs?": [["string"], (role) => (byOldName(role, "bound_cidrs") ? boundCidrs(role) : undefined)],
  "token_num_uses?": ["integer", (role) => role.tokenNumUses || undefined],
  "location_hint?": ["string", (role) => role.locationHint || undefined],
});

function byOldName({ writtenByOldName }: TokenRole, field: RenamedField): boolean {
  return writtenByOldName.includes(field);
}

function boundCidrs({ tokenBoundCidrs }: TokenRole): readonly string[] | undefined {
  return tokenBoundCidrs.length > 0 ? tokenBoundCidrs : undefined;
}

/** The name of a role in a path. */
export const ROLE_NAME = namedSegment("role_name");

export const TOKEN_ROLE_ROUTES: readonly Route[] = withParameters({ role_name: "The name of the role" }, [
  listRoute("roles", {
    summary: "Lists the token roles.",
    operationId: "list-roles",
    names: async ({ env }, after, limit) => tokenRoles(env).list(after, limit),
  }),

  showRoute(`roles/${ROLE_NAME}`, {
    summary: "Shows a token role.",
    operationId: "read-role",
    view: TOKEN_ROLE_VIEW,
    read: ({ env, params }) => tokenRoles(env).read(params.role_name ?? ""),
  }),

  tokenRoute("update", `roles/${ROLE_NAME}`, {
    summary: "Creates or changes a token role; fields that are not sent keep their values.",
    operationId: "write-role",
    answers: DONE_OR_WARNED,
    input: TOKEN_ROLE_FIELDS,
    createsOrUpdates: true,
    async prepare({ installation, params, fields: { role_name: _, ...sent } }) {
      const mount = mountTtl(installation.mountAt("token/"));
      const failure = roleWriteFailure(params.role_name ?? "", sent, mount);
      return failure ? err(failure) : ok({ sent, mount });
    },
    async handle({ env, params, prepared: { sent, mount }, verdict }) {
      const name = params.role_name ?? "";
      const write = (attempt?: CallAttempt) => tokenRoles(env).write(name, sent, verdict, mount, attempt);
      const written = await changedOnce(env, write);
      forgetRole(name);
      return written.ok ? ok(warnedReply(written.value)) : written;
    },
  }),

  // The role may have been deleted. The descendants of its tokens end as well.
  simpleRoute("update", `roles/${ROLE_NAME}/revoke-tokens`, {
    summary: "Revokes all tokens that a role created, at once.",
    operationId: "revoke-tokens-of-role",
    answers: NO_CONTENT,
    // An unknown field is refused: if a filter were ignored, more tokens would be revoked.
    input: strictSchema({}),
    handle: async (context) => {
      // Sudo is needed as for a revocation by prefix: a caller that may write a role may not end its tokens.
      if (!context.verdict.sudo) return err(DENIED);
      const prefix = `auth/token/create/${context.params.role_name ?? ""}/`;
      return endedReply(context.env, await endBelow(context, { mode: "revoke", prefix }, null));
    },
  }),

  removeRoute(`roles/${ROLE_NAME}`, {
    summary: "Deletes a token role.",
    operationId: "delete-role",
    remove: async ({ env, params }) => {
      const name = params.role_name ?? "";
      await attempted(env, (attempt) => tokenRoles(env).delete(name, attempt));
      forgetRole(name);
    },
  }),
]);
