import * as z from "zod";
import {
  changeTokenSettings,
  DEFAULT_TOKEN_SETTINGS,
  renderTokenSettings,
  TOKEN_FIELDS,
  type TokenSettings,
} from "../../auth/token-settings.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";
import { duration, flag, list, pairs, sent, text } from "../../wire/fields.ts";
import { type BoundClaims, type BoundClaimsType, readBoundClaims } from "./claims.ts";
import type { Leeways } from "./validity.ts";

/** Whose tokens may log in, and what they get. */
export interface JwtRole {
  readonly boundAudiences: readonly string[];
  /** "" for any. */
  readonly boundSubject: string;
  readonly boundClaims: BoundClaims;
  readonly boundClaimsType: BoundClaimsType;
  /** Claims to the keys of metadata that they are copied to. */
  readonly claimMappings: Readonly<Record<string, string>>;
  /** The claim that names the holder. */
  readonly userClaim: string;
  /** True: it is a JSON pointer; else a slash in it is part of the name. */
  readonly userClaimJsonPointer: boolean;
  /** "" for none. */
  readonly groupsClaim: string;
  readonly leeways: Leeways;
  readonly token: TokenSettings;
}

const NEW_ROLE: JwtRole = {
  boundAudiences: [],
  boundSubject: "",
  boundClaims: {},
  boundClaimsType: "string",
  claimMappings: {},
  userClaim: "",
  userClaimJsonPointer: false,
  groupsClaim: "",
  leeways: { expiration: 0, notBefore: 0, clockSkew: 0 },
  token: DEFAULT_TOKEN_SETTINGS,
};

export const ROLE_FIELDS = z.object({
  role_type: sent(text()),
  bound_audiences: sent(list()),
  bound_subject: sent(text()),
  bound_claims: z.record(z.string(), z.unknown()).nullish(),
  bound_claims_type: sent(text()),
  claim_mappings: sent(pairs()),
  user_claim: sent(text()),
  user_claim_json_pointer: sent(flag(false)),
  groups_claim: sent(text()),
  expiration_leeway: sent(duration()),
  not_before_leeway: sent(duration()),
  clock_skew_leeway: sent(duration()),
  max_age: sent(duration()),
  allowed_redirect_uris: sent(list()),
  callback_mode: sent(text()),
  poll_interval: z.unknown().optional(),
  oidc_scopes: sent(list()),
  oauth2_metadata: sent(list()),
  oidc_disable_confirmation: sent(flag(false)),
  verbose_oidc_logging: sent(flag(false)),
  token_policies_template_claims: sent(flag(false)),
  ...TOKEN_FIELDS,
});
export type RoleFields = z.infer<typeof ROLE_FIELDS>;

/** Keys of metadata that the method sets itself. */
const RESERVED_METADATA: ReadonlySet<string> = new Set(["role"]);
const MAX_ENTRIES = 64;
const MAX_TEXT = 1024;
const MAX_BOUND_CLAIMS_LENGTH = 16_384;

/** A role after a write, with what its writer should know. */
export interface RoleChange {
  readonly role: JwtRole;
  readonly warnings: readonly string[];
}

/** Applies a write to a role; messages are the reference's where it has the rule. `before` is null for a new role. */
export function changeRole(before: JwtRole | null, fields: RoleFields, mount: MountTtl): Result<RoleChange, string> {
  const old = before ?? NEW_ROLE;
  const type = fields.bound_claims_type || old.boundClaimsType;
  if (type !== "string" && type !== "glob") return err("invalid 'bound_claims_type': it must be string or glob");
  const boundClaims = readBoundClaims(fields.bound_claims ?? old.boundClaims, type);
  if (!boundClaims) {
    return err(
      "bound_claims must be strings, bools, numbers or lists of them; with bound_claims_type glob strings alone",
    );
  }
  const token = changeTokenSettings(old.token, fields, mount);
  if (!token.ok) return token;
  const role: JwtRole = {
    boundAudiences: fields.bound_audiences ?? old.boundAudiences,
    boundSubject: fields.bound_subject ?? old.boundSubject,
    boundClaims,
    boundClaimsType: type,
    claimMappings: fields.claim_mappings ?? old.claimMappings,
    userClaim: fields.user_claim ?? old.userClaim,
    userClaimJsonPointer: fields.user_claim_json_pointer ?? old.userClaimJsonPointer,
    groupsClaim: fields.groups_claim ?? old.groupsClaim,
    leeways: {
      expiration: fields.expiration_leeway ?? old.leeways.expiration,
      notBefore: fields.not_before_leeway ?? old.leeways.notBefore,
      clockSkew: fields.clock_skew_leeway ?? old.leeways.clockSkew,
    },
    token: token.value.settings,
  };
  const problem = notHere(fields) ?? roleProblem(role);
  return problem ? err(problem) : ok({ role, warnings: token.value.warnings });
}

/** What a read shows. Fields of logins through a browser read as if they were not set. */
export function renderRole(role: JwtRole): Record<string, unknown> {
  return {
    allowed_redirect_uris: [],
    bound_audiences: role.boundAudiences,
    bound_claims: role.boundClaims,
    bound_claims_type: role.boundClaimsType,
    bound_subject: role.boundSubject,
    callback_mode: "client",
    claim_mappings: role.claimMappings,
    clock_skew_leeway: role.leeways.clockSkew,
    expiration_leeway: role.leeways.expiration,
    groups_claim: role.groupsClaim,
    max_age: 0,
    not_before_leeway: role.leeways.notBefore,
    oauth2_metadata: [],
    oidc_disable_confirmation: false,
    oidc_scopes: [],
    role_type: "jwt",
    token_policies_template_claims: false,
    user_claim: role.userClaim,
    user_claim_json_pointer: role.userClaimJsonPointer,
    verbose_oidc_logging: false,
    ...renderTokenSettings(role.token),
  };
}

/** What of the reference's roles is not here, as a refusal: a setting that is ignored would look as if it held. */
function notHere(fields: RoleFields): string | null {
  if (fields.role_type !== undefined && fields.role_type !== "" && fields.role_type !== "jwt") {
    return "invalid 'role_type': there is no login through a browser here, only jwt";
  }
  if ((fields.allowed_redirect_uris ?? []).length > 0 || (fields.oidc_scopes ?? []).length > 0) {
    return "allowed_redirect_uris and oidc_scopes belong to logins through a browser, which are not here";
  }
  if ((fields.max_age ?? 0) !== 0) return "max_age belongs to logins through a browser, which are not here";
  if (fields.token_policies_template_claims) return "token_policies_template_claims is not supported";
  return null;
}

function roleProblem(role: JwtRole): string | null {
  if (role.userClaim === "") return "a user claim must be defined on the role";
  const { boundAudiences, boundSubject, boundClaims, token } = role;
  const bound = boundAudiences.length + token.boundCidrs.length + Object.keys(boundClaims).length;
  if (bound === 0 && boundSubject === "") {
    return "must have at least one bound constraint when creating/updating a role";
  }
  return mappingProblem(role.claimMappings) ?? sizeProblem(role);
}

function mappingProblem(mappings: Readonly<Record<string, string>>): string | null {
  const keys = Object.values(mappings);
  const reserved = keys.find((key) => RESERVED_METADATA.has(key));
  if (reserved !== undefined) return `metadata key "${reserved}" is reserved and may not be a mapping destination`;
  return new Set(keys).size < keys.length ? "multiple claims are mapped to one metadata key" : null;
}

function sizeProblem(role: JwtRole): string | null {
  const lists = { bound_audiences: role.boundAudiences, claim_mappings: Object.keys(role.claimMappings) };
  for (const [name, values] of Object.entries(lists)) {
    if (values.length > MAX_ENTRIES) return `${name} holds at most ${MAX_ENTRIES} entries`;
  }
  const texts = [role.boundSubject, role.userClaim, role.groupsClaim, ...role.boundAudiences];
  if ([...texts, ...Object.entries(role.claimMappings).flat()].some((value) => value.length > MAX_TEXT)) {
    return `no text of a role may be longer than ${MAX_TEXT} characters`;
  }
  return JSON.stringify(role.boundClaims).length > MAX_BOUND_CLAIMS_LENGTH ? "bound_claims is too large" : null;
}
