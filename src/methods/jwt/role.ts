import {
  changeTokenSettings,
  DEFAULT_TOKEN_SETTINGS,
  OLD_LIMIT_FIELDS,
  OLD_LIMITS,
  TOKEN_FIELDS,
  TOKEN_SETTINGS,
  type TokenSettings,
  tokenFieldsProblem,
} from "../../auth/token-settings.ts";
import { ok, refuse } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";
import { roleSchema, type Values } from "../../wire/field-schema.ts";
import { anyObject, duration, flag, list, pairs, sent, text } from "../../wire/fields.ts";
import { fieldsOf, view } from "../../wire/view.ts";
import { type BoundClaims, readBoundClaims } from "./claims.ts";
import {
  BROWSER_FIELDS,
  BROWSER_VIEW,
  browserFieldsProblem,
  changeBrowserLogin,
  type RoleBrowser,
} from "./oidc/browser-role.ts";
import { redirectWarnings } from "./oidc/redirect-uris.ts";
import type { Leeways } from "./validity-times.ts";

export interface JwtRole extends RoleBrowser {
  readonly boundAudiences: readonly string[];
  /** "" for any. */
  readonly boundSubject: string;
  readonly boundClaims: BoundClaims;
  readonly boundClaimsType: "string" | "glob";
  /** Keys of the metadata, by the claims that are copied to them. */
  readonly claimMappings: Readonly<Record<string, string>>;
  readonly userClaim: string;
  /** True: `userClaim` is a JSON pointer. False: a slash in it is part of the name. */
  readonly userClaimJsonPointer: boolean;
  /** "" for none. */
  readonly groupsClaim: string;
  readonly leeways: Leeways;
  /** Kept and shown. Absent: false. */
  readonly verboseLogging?: boolean;
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

export const JWT_ROLE_FIELDS = roleSchema({
  role_type: sent(text()).describe(
    "`oidc`: logins through a browser, the default of a new role with `allowed_redirect_uris`; `jwt`: with a token",
  ),
  bound_audiences: sent(list()).describe("Audiences of which a token must name one"),
  bound_subject: sent(text()).describe("The subject that a token must name"),
  bound_claims: anyObject().describe("Claims that a token must have, with their values"),
  bound_claims_type: sent(text()).describe("`string`, or `glob` for values with `*`"),
  claim_mappings: sent(pairs()).describe("Claims that become metadata of tokens, with their names there"),
  user_claim: sent(text()).describe("The claim that names the holder"),
  user_claim_json_pointer: sent(flag(false)).describe("True: `user_claim` is a JSON pointer"),
  groups_claim: sent(text()).describe("The claim that lists groups of the holder"),
  expiration_leeway: sent(duration()).describe("How late a token may be"),
  not_before_leeway: sent(duration()).describe("How early a token may be"),
  clock_skew_leeway: sent(duration()).describe("How far clocks may differ"),
  ...BROWSER_FIELDS,
  oauth2_metadata: sent(list()).describe("Without effect: no token of the provider leaves this server"),
  verbose_oidc_logging: sent(flag(false)).describe("Kept and shown: `explain/login` shows the claims of a login"),
  token_policies_template_claims: sent(flag(false)).describe("Refused"),
  ...TOKEN_FIELDS,
  ...OLD_LIMIT_FIELDS,
});
export type JwtRoleFields = Values<typeof JWT_ROLE_FIELDS>;

const MAX_ENTRIES = 64;
const MAX_TEXT = 1024;
const MAX_BOUND_CLAIMS_LENGTH = 16_384;
const NO_USER_CLAIM = "a user claim must be defined on the role";
const BAD_BOUND_CLAIMS_TYPE = "invalid 'bound_claims_type': it must be string or glob";
const BAD_BOUND_CLAIMS =
  "bound_claims must be strings, bools, numbers or lists of them; with bound_claims_type glob strings alone";

/** Returns the problem with the fields of a write, whatever is stored, or null. See `changeJwtRole`. */
export function jwtRoleProblem(fields: JwtRoleFields): string | null {
  if (!["", "string", "glob"].includes(fields.bound_claims_type ?? "")) return BAD_BOUND_CLAIMS_TYPE;
  // Every value that is valid under "glob" is valid under "string".
  if (fields.bound_claims && !readBoundClaims(fields.bound_claims, "string")) return BAD_BOUND_CLAIMS;
  if (fields.user_claim === "") return NO_USER_CLAIM;
  const problem = tokenFieldsProblem(fields) ?? notHere(fields) ?? browserFieldsProblem(fields);
  return problem ?? mappingProblem(fields.claim_mappings ?? {});
}

/** Applies a write. Returns the role and warnings, or a 400. Messages are the reference's where it has them. */
export function changeJwtRole(before: JwtRole | null, fields: JwtRoleFields, mount: MountTtl) {
  const old = before ?? NEW_ROLE;
  const type = fields.bound_claims_type || old.boundClaimsType;
  if (type !== "string" && type !== "glob") return refuse(BAD_BOUND_CLAIMS_TYPE);
  const boundClaims = readBoundClaims(fields.bound_claims ?? old.boundClaims, type);
  if (!boundClaims) return refuse(BAD_BOUND_CLAIMS);
  const token = changeTokenSettings(old.token, fields, mount);
  if (!token.ok) return refuse(token.error);
  const browser = changeBrowserLogin(before, fields);
  if (!browser.ok) return browser;
  const verboseLogging = fields.verbose_oidc_logging ?? old.verboseLogging ?? false;
  const role: JwtRole = {
    ...browser.value,
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
    ...(verboseLogging && { verboseLogging }),
    token: token.value.settings,
  };
  const problem = notHere(fields) ?? roleProblem(role);
  const warnings = [...token.value.warnings, ...redirectWarnings(role.browser?.redirectUris ?? [])];
  return problem ? refuse(problem) : ok({ role, warnings });
}

/** The fields of a read. */
export const JWT_ROLE_VIEW = view<JwtRole>({
  role_type: ["string", (role) => (role.browser ? "oidc" : "jwt")],
  bound_audiences: [["string"], (role) => role.boundAudiences],
  bound_subject: ["string", (role) => role.boundSubject],
  bound_claims: ["object", (role) => role.boundClaims],
  bound_claims_type: ["string", (role) => role.boundClaimsType],
  claim_mappings: [{ "*": "string" }, (role) => role.claimMappings],
  user_claim: ["string", (role) => role.userClaim],
  user_claim_json_pointer: ["boolean", (role) => role.userClaimJsonPointer],
  groups_claim: ["string", (role) => role.groupsClaim],
  expiration_leeway: ["integer", (role) => role.leeways.expiration],
  not_before_leeway: ["integer", (role) => role.leeways.notBefore],
  clock_skew_leeway: ["integer", (role) => role.leeways.clockSkew],
  ...BROWSER_VIEW,
  oauth2_metadata: [["string"], () => []],
  token_policies_template_claims: ["boolean", () => false],
  verbose_oidc_logging: ["boolean", (role) => role.verboseLogging ?? false],
  ...fieldsOf((role) => role.token, { ...TOKEN_SETTINGS, ...OLD_LIMITS }),
});

/** Refuses settings of the reference that Grove does not support. An ignored setting would seem to be in force. */
function notHere(fields: JwtRoleFields): string | null {
  return fields.token_policies_template_claims ? "token_policies_template_claims is not supported" : null;
}

function roleProblem(role: JwtRole): string | null {
  if (role.userClaim === "") return NO_USER_CLAIM;
  const { boundAudiences, boundSubject, boundClaims, token } = role;
  const bound = boundAudiences.length + token.boundCidrs.length + Object.keys(boundClaims).length;
  // Tokens of a login through a browser are for this server alone.
  const isBound = bound > 0 || boundSubject !== "" || role.browser !== undefined;
  if (!isBound) return "must have at least one bound constraint when creating/updating a role";
  return mappingProblem(role.claimMappings) ?? sizeProblem(role);
}

function mappingProblem(mappings: Readonly<Record<string, string>>): string | null {
  const keys = Object.values(mappings);
  // The method sets this key itself.
  if (keys.includes("role")) return 'metadata key "role" is reserved and may not be a mapping destination';
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
