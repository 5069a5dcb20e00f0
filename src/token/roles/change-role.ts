import { readLocationHint } from "../../base/location.ts";
import { hasUnprintable } from "../../base/misleading-characters.ts";
import { type Failure, ok, type Result, refuse } from "../../base/result.ts";
import { normalizePolicyName, normalizePolicyNames, policyNameProblem } from "../../policy/policy-names.ts";
import type { MountTtl } from "../../system/mount.ts";
import { RENAMED_FIELDS, type RenamedField, ROLE_TOKEN_TYPES, type TokenRole, type TokenRoleFields } from "../role.ts";
import { readCidrs } from "../rules/bound-cidrs.ts";

export const MAX_ROLE_NAME = 128;
const MAX_PATH_SUFFIX = 256;
/** Characters of a whole role as it is stored. Every creation with the role sends it to a tree. */
const MAX_ROLE_LENGTH = 65_536;

const DURATIONS = ["token_explicit_max_ttl", "explicit_max_ttl", "token_period", "period"] as const;
const PATH_SUFFIX = /\w[\w.-]+\w/;

/** A role after a write, and warnings for the caller. */
export interface TokenRoleChange {
  readonly role: TokenRole;
  readonly warnings: readonly string[];
}

/** The defaults: renewable service tokens with the policies that the caller can give without a role. */
export function newRole(name: string): TokenRole {
  return {
    name,
    allowedPolicies: [],
    disallowedPolicies: [],
    allowedPoliciesGlob: [],
    disallowedPoliciesGlob: [],
    allowedEntityAliases: [],
    orphan: false,
    renewable: true,
    pathSuffix: "",
    tokenBoundCidrs: [],
    tokenExplicitMaxTtl: 0,
    tokenPeriod: 0,
    tokenNumUses: 0,
    tokenNoDefaultPolicy: false,
    tokenType: "default-service",
    writtenByOldName: [],
  };
}

/**
 * Applies a write to a role. Fields that the write does not name keep their values. After an error (400) nothing of it
 * applies. Messages are the reference's (auth/token/roles; test/conformance/lines.json T26 to T43).
 */
export function changeTokenRole(before: TokenRole, sent: TokenRoleFields, mount: MountTtl): Result<TokenRoleChange> {
  const changed = apply(before, sent, mount);
  const problem = changed.ok && checkRoleType(changed.value.role);
  return problem ? refuse(problem) : changed;
}

/** Returns the failure of a write of a role whose fields are wrong whatever is stored, or null. See `changeTokenRole`. */
export function roleWriteFailure(name: string, sent: TokenRoleFields, mount: MountTtl): Failure | null {
  const applied = apply(newRole(name), sent, mount);
  return applied.ok ? null : applied.error;
}

function apply(before: TokenRole, sent: TokenRoleFields, mount: MountTtl): Result<TokenRoleChange> {
  const warnings: string[] = [];
  const renamed = {
    period: pickRenamed("period", sent.token_period, sent.period, warnings),
    bound_cidrs: pickRenamed("bound_cidrs", sent.token_bound_cidrs, sent.bound_cidrs, warnings),
    explicit_max_ttl: pickRenamed("explicit_max_ttl", sent.token_explicit_max_ttl, sent.explicit_max_ttl, warnings),
  };
  const oldNames = RENAMED_FIELDS.filter(
    (field) => renamed[field]?.byOldName ?? before.writtenByOldName.includes(field),
  );
  const cidrs = renamed.bound_cidrs ? readCidrs(renamed.bound_cidrs.value ?? [], renamed.bound_cidrs.label) : null;
  if (cidrs && !cidrs.ok) return refuse(cidrs.error);

  const hint = sent.location_hint === undefined ? null : readLocationHint(sent.location_hint);
  if (hint && !hint.ok) return refuse(hint.error);
  const location = hint ? hint.value : before.locationHint;

  const role: TokenRole = {
    name: before.name,
    allowedPolicies: grantedNames(sent.allowed_policies) ?? before.allowedPolicies,
    disallowedPolicies: refusedNames(sent.disallowed_policies) ?? before.disallowedPolicies,
    allowedPoliciesGlob: grantedNames(sent.allowed_policies_glob) ?? before.allowedPoliciesGlob,
    disallowedPoliciesGlob: refusedNames(sent.disallowed_policies_glob) ?? before.disallowedPoliciesGlob,
    allowedEntityAliases: refusedNames(sent.allowed_entity_aliases) ?? before.allowedEntityAliases,
    orphan: sent.orphan ?? before.orphan,
    renewable: sent.renewable ?? before.renewable,
    pathSuffix: sent.path_suffix ?? before.pathSuffix,
    tokenBoundCidrs: cidrs?.value ?? before.tokenBoundCidrs,
    tokenExplicitMaxTtl: renamed.explicit_max_ttl?.value ?? before.tokenExplicitMaxTtl,
    tokenPeriod: renamed.period?.value ?? before.tokenPeriod,
    tokenNumUses: sent.token_num_uses ?? before.tokenNumUses,
    tokenNoDefaultPolicy: sent.token_no_default_policy ?? before.tokenNoDefaultPolicy,
    tokenType: ROLE_TOKEN_TYPES.find((type) => type === sent.token_type) ?? before.tokenType,
    writtenByOldName: oldNames,
    ...(location && { locationHint: location }),
  };
  const problem = problemOf(role, sent);
  if (problem) return refuse(problem);
  // Warns when this write sets the value, and on every write while the value is stored under its deprecated name.
  const given = sent.token_explicit_max_ttl !== undefined || role.writtenByOldName.includes("explicit_max_ttl");
  if (given && role.tokenExplicitMaxTtl > mount.maxSeconds) {
    warnings.push(
      `Given explicit max TTL of ${role.tokenExplicitMaxTtl} is greater than system/mount allowed value of ${mount.maxSeconds} seconds; until this is fixed attempting to create tokens against this role will result in an error`,
    );
  }
  return ok({ role, warnings });
}

function problemOf(role: TokenRole, sent: TokenRoleFields): string | null {
  if (role.name.length > MAX_ROLE_NAME) return `role name must not be longer than ${MAX_ROLE_NAME} characters`;
  const negative = DURATIONS.find((field) => (sent[field] ?? 0) < 0);
  if (negative) {
    return `Field validation failed: error converting input for field "${negative}": cannot provide negative value`;
  }
  if (role.tokenNumUses < 0) return "error parsing role fields: 'token_num_uses' cannot be negative";
  if (sent.token_type !== undefined && sent.token_type !== role.tokenType) return "invalid 'token_type' value";
  return checkSuffix(role.pathSuffix) ?? checkNames(role);
}

/**
 * Returns why the token type of a role conflicts with its other settings, or null. A batch token is stored nowhere, so
 * it can't be renewed and its uses can't be counted. Roles whose clients may request another type keep the settings for
 * that type; a creation checks the type that it gives. The rules and messages are the reference's (auth/token/roles).
 */
function checkRoleType(role: TokenRole): string | null {
  if (role.tokenType !== "batch") return null;
  const start = "'token_type' cannot be 'batch' when role is set to generate";
  if (!role.orphan) return `${start} non-orphan tokens`;
  if (role.tokenPeriod > 0) return `${start} periodic tokens`;
  if (role.renewable) return `${start} renewable tokens`;
  if (role.tokenExplicitMaxTtl > 0) return `${start} tokens with an explicit max TTL`;
  if (role.tokenNumUses > 0) return `${start} tokens with limited use count`;
  return null;
}

function checkSuffix(suffix: string): string | null {
  if (suffix === "") return null;
  if (!PATH_SUFFIX.test(suffix) || hasUnprintable(suffix)) {
    return "given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w";
  }
  // The suffix becomes part of the path of tokens, and tokens are revoked by a prefix of that path.
  if (suffix.includes("..")) return "error registering path suffix: path cannot contain parent references";
  if (suffix.length > MAX_PATH_SUFFIX) return `path_suffix must not be longer than ${MAX_PATH_SUFFIX} characters`;
  return null;
}

function checkNames(role: TokenRole): string | null {
  const lists = {
    allowed_policies: role.allowedPolicies,
    disallowed_policies: role.disallowedPolicies,
    allowed_policies_glob: role.allowedPoliciesGlob,
    disallowed_policies_glob: role.disallowedPoliciesGlob,
  };
  for (const [field, names] of Object.entries(lists)) {
    const problem = names.map(policyNameProblem).find((found) => found !== null);
    if (problem) return `${field}: ${problem}`;
  }
  return JSON.stringify(role).length > MAX_ROLE_LENGTH ? "the role is too large" : null;
}

function grantedNames(names: readonly string[] | null | undefined): string[] | undefined {
  return names ? normalizePolicyNames(names) : undefined;
}

/** Keeps `root` beside other names, unlike `grantedNames`: a list of refused names must not lose the others. */
function refusedNames(names: readonly string[] | null | undefined): string[] | undefined {
  return names ? [...new Set(names.map(normalizePolicyName))].filter((name) => name !== "").sort() : undefined;
}

/** Prefers the value under the new name. null when neither was sent. */
function pickRenamed<T>(field: RenamedField, byNewName: T | undefined, byOldName: T | undefined, warnings: string[]) {
  if (byNewName !== undefined) {
    if (byOldName !== undefined) {
      warnings.push(`Both 'token_${field}' and deprecated '${field}' value supplied, ignoring the deprecated value`);
    }
    return { value: byNewName, byOldName: false, label: `error parsing role fields: token_${field}` };
  }
  return byOldName === undefined ? null : { value: byOldName, byOldName: true, label: `error parsing ${field}` };
}
