import type { RenamedField, TokenRole } from "../../token/role.ts";
import { view } from "../../wire/view.ts";

/** What a read of a role shows. A field with a deprecated name shows its value there only when it was written by it. */
export const ROLE_VIEW = view<TokenRole>({
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
