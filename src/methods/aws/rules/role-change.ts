import { changeTokenSettings, DEFAULT_TOKEN_SETTINGS } from "../../../auth/token-settings.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { MountTtl } from "../../../system/mount.ts";
import { parsePrincipalArn, wildcardProblem } from "../arn.ts";
import { isPlainWord } from "../encoding.ts";
import {
  type AuthType,
  BOUND_FIELDS,
  type CloudRole,
  checksInstance,
  INSTANCE_ENTITY,
  type RoleFields,
  roleFieldsProblem,
} from "./role.ts";

/** A write of a role, and what it depends on. */
export interface RoleChangeInput {
  /** null for the first write of a name. */
  readonly before: CloudRole | null;
  readonly sent: RoleFields;
  readonly mount: MountTtl;
  /** Values of a new role. */
  readonly fresh: Pick<CloudRole, "roleId" | "sealedTagKey">;
  /** Unique ids by ARN of the principals that were looked up for this write. */
  readonly resolved: Readonly<Record<string, string>>;
}

export type RoleChange =
  | { readonly kind: "changed"; readonly role: CloudRole; readonly warnings: readonly string[] }
  /** The write is allowed, but the unique ids of these principals must be looked up first. */
  | { readonly kind: "unresolved"; readonly arns: readonly string[] };

/**
 * Applies a write to a role. Fields that were not sent keep their values. The first rule that is broken refuses the
 * whole write. Principals are looked up last, when all other rules hold.
 */
export function changeRole(input: RoleChangeInput): Result<RoleChange> {
  const { before, sent, mount, fresh, resolved } = input;
  const limit = roleFieldsProblem(sent);
  if (limit) return refuse(limit);
  if (before?.resolveUniqueIds && sent.resolve_cloud_unique_ids === false) {
    return refuse("changing resolve_cloud_unique_ids from true to false is not allowed");
  }
  const authType = chooseAuthType(before, sent.auth_type);
  if (!authType.ok) return refuse(authType.error);
  const token = changeTokenSettings(before?.token ?? DEFAULT_TOKEN_SETTINGS, sent, mount);
  const bounds = BOUND_FIELDS.flatMap((field) => (sent[field] ? [[field, sent[field]] as const] : []));
  const role: CloudRole = {
    roleId: before?.roleId ?? fresh.roleId,
    sealedTagKey: before?.sealedTagKey ?? fresh.sealedTagKey,
    authType: authType.value,
    bounds: { ...before?.bounds, ...Object.fromEntries(bounds) },
    principalIds: sent.bound_iam_principal_arn ? [] : (before?.principalIds ?? []),
    resolveUniqueIds: sent.resolve_cloud_unique_ids ?? before?.resolveUniqueIds ?? true,
    inferredEntityType: sent.inferred_entity_type ?? before?.inferredEntityType ?? "",
    inferredRegion: sent.inferred_cloud_region ?? before?.inferredRegion ?? "",
    roleTag: sent.role_tag ?? before?.roleTag ?? "",
    allowInstanceMigration: sent.allow_instance_migration ?? before?.allowInstanceMigration ?? false,
    disallowReauthentication: sent.disallow_reauthentication ?? before?.disallowReauthentication ?? false,
    token: token.ok ? token.value.settings : DEFAULT_TOKEN_SETTINGS,
  };
  const problem = inferenceProblem(role) ?? boundsProblem(role) ?? instanceFlagsProblem(role, sent);
  if (problem) return refuse(problem);
  if (!token.ok) return refuse(token.error);
  const tagProblem = roleTagProblem(role, sent);
  if (tagProblem) return refuse(tagProblem);

  const arns = role.resolveUniqueIds && role.principalIds.length === 0 ? exactPrincipals(role) : [];
  if (arns.length > MAX_RESOLVED) {
    return refuse(
      `at most ${MAX_RESOLVED} principals without a wildcard can be bound while their unique ids are resolved`,
    );
  }
  if (!arns.every((arn) => Object.hasOwn(resolved, arn))) return ok({ kind: "unresolved", arns });
  const principalIds = [...role.principalIds, ...arns.flatMap((arn) => resolved[arn] ?? [])];
  const warnings = [...token.value.warnings, ...unmatchableWarnings(role)];
  return ok({ kind: "changed", role: { ...role, principalIds }, warnings });
}

/** The type of a new or changed role. Messages here and below are those of the reference's AWS method (role). */
function chooseAuthType(before: CloudRole | null, sent: string | undefined): Result<AuthType, string> {
  if (before) {
    return sent === undefined || sent === before.authType
      ? ok(before.authType)
      : err("changing auth_type on a role is not allowed");
  }
  if (sent === undefined) return ok("iam");
  if (sent === "vm" || sent === "iam") return ok(sent);
  return err(isPlainWord(sent) ? `unrecognized auth_type: ${sent}` : "unrecognized auth_type");
}

function inferenceProblem(role: CloudRole): string | null {
  const { authType, inferredEntityType: type, inferredRegion: region } = role;
  if (type !== "" && authType !== "iam") return "specified inferred_entity_type but didn't allow iam auth_type";
  if (type !== "" && type !== INSTANCE_ENTITY) {
    return isPlainWord(type)
      ? `specified invalid inferred_entity_type: ${type}`
      : "specified invalid inferred_entity_type";
  }
  if (type !== "" && region === "") return "specified inferred_entity_type but not inferred_cloud_region";
  if (type === "" && region !== "") return "specified inferred_cloud_region but not inferred_entity_type";
  return null;
}

/** A constraint that no login checks is refused, since it would look like a protection. */
function boundsProblem(role: CloudRole): string | null {
  const bound = BOUND_FIELDS.filter((field) => (role.bounds[field] ?? []).length > 0);
  for (const field of bound) {
    if (field === "bound_iam_principal_arn") {
      if (role.authType !== "iam") return "specified bound_iam_principal_arn but not specifying iam auth_type";
    } else if (!checksInstance(role)) {
      return `specified ${field} but not specifying vm auth_type or inferring vm_instance`;
    }
  }
  if (bound.length === 0) return "at least one bound parameter should be specified on the role";
  for (const field of ARN_FIELDS) {
    const values = role.bounds[field] ?? [];
    const bad = values.findIndex((arn) => wildcardProblem(arn) !== null);
    if (bad >= 0) return `${field}: item ${bad + 1}: ${wildcardProblem(values[bad] ?? "")}`;
  }
  return null;
}

const ARN_FIELDS = ["bound_iam_instance_profile_arn", "bound_iam_role_arn", "bound_iam_principal_arn"] as const;

/** A flag that has no meaning for the role is refused even when it is false. */
function instanceFlagsProblem(role: CloudRole, sent: RoleFields): string | null {
  if (role.authType !== "vm") {
    for (const field of ["disallow_reauthentication", "allow_instance_migration"] as const) {
      if (sent[field] !== undefined) return `specified ${field} when not using vm auth type`;
    }
  }
  return role.disallowReauthentication && role.allowInstanceMigration
    ? "cannot specify both disallow_reauthentication=true and allow_instance_migration=true"
    : null;
}

function roleTagProblem(role: CloudRole, sent: RoleFields): string | null {
  if (sent.role_tag === undefined) return null;
  if (role.authType !== "vm") return "tried to enable role_tag when not using vm auth method";
  // The cloud's limit for the key of a tag.
  return new TextEncoder().encode(sent.role_tag).length > 127
    ? "length of role tag exceeds the VM key limit of 127 characters"
    : null;
}

/** Each principal costs a call to the cloud in the request that writes the role. */
const MAX_RESOLVED = 32;

/**
 * The bound principals without a wildcard. They are resolved to unique ids: a principal that is created again under the
 * same name has another id.
 */
function exactPrincipals(role: CloudRole): string[] {
  const arns = role.bounds.bound_iam_principal_arn ?? [];
  return [...new Set(arns.filter((arn) => !arn.endsWith("*")))];
}

/** Without unique ids a principal is compared by its canonical ARN, which has no path. */
function unmatchableWarnings(role: CloudRole): string[] {
  if (role.resolveUniqueIds) return [];
  const unmatchable = exactPrincipals(role).some((arn) => {
    const parsed = parsePrincipalArn(arn);
    return !parsed.ok || parsed.value.canonicalArn !== arn;
  });
  return unmatchable
    ? [
        "With resolve_cloud_unique_ids=false a bound_iam_principal_arn without a wildcard only matches in the form arn:<partition>:iam::<account>:<user|role>/<name>, without a path. At least one that was given has another form and never matches.",
      ]
    : [];
}
