import type { RenamedField, TokenRole } from "../../token/role.ts";
import type { Shape } from "../../wire/shape.ts";

/** The shape of a role. */
export const ROLE_SHAPE = {
  name: "string",
  allowed_policies: ["string"],
  disallowed_policies: ["string"],
  allowed_policies_glob: ["string"],
  disallowed_policies_glob: ["string"],
  allowed_entity_aliases: ["string"],
  orphan: "boolean",
  renewable: "boolean",
  path_suffix: "string",
  token_explicit_max_ttl: "integer",
  explicit_max_ttl: "integer",
  token_period: "integer",
  period: "integer",
  token_no_default_policy: "boolean",
  token_type: "string",
  "token_bound_cidrs?": ["string"],
  "bound_cidrs?": ["string"],
  "token_num_uses?": "integer",
  "location_hint?": "string",
} as const satisfies Shape;

/** What a read of a role shows. A field with a deprecated name shows its value there only when it was written by it. */
export function renderRole(role: TokenRole): Record<string, unknown> {
  const old = (field: RenamedField) => role.writtenByOldName.includes(field);
  const bound = role.tokenBoundCidrs.length > 0;
  return {
    name: role.name,
    allowed_policies: role.allowedPolicies,
    disallowed_policies: role.disallowedPolicies,
    allowed_policies_glob: role.allowedPoliciesGlob,
    disallowed_policies_glob: role.disallowedPoliciesGlob,
    allowed_entity_aliases: role.allowedEntityAliases,
    orphan: role.orphan,
    renewable: role.renewable,
    path_suffix: role.pathSuffix,
    token_explicit_max_ttl: role.tokenExplicitMaxTtl,
    explicit_max_ttl: old("explicit_max_ttl") ? role.tokenExplicitMaxTtl : 0,
    token_period: role.tokenPeriod,
    period: old("period") ? role.tokenPeriod : 0,
    token_no_default_policy: role.tokenNoDefaultPolicy,
    token_type: role.tokenType,
    ...(bound && { token_bound_cidrs: role.tokenBoundCidrs }),
    ...(bound && old("bound_cidrs") && { bound_cidrs: role.tokenBoundCidrs }),
    ...(role.tokenNumUses > 0 && { token_num_uses: role.tokenNumUses }),
    ...(role.locationHint && { location_hint: role.locationHint }),
  };
}
