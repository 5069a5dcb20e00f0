import {
  changeTokenSettings,
  DEFAULT_TOKEN_SETTINGS,
  TOKEN_FIELDS,
  TOKEN_SETTINGS,
  type TokenSettings,
} from "../../../auth/token-settings.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { MountTtl } from "../../../system/mount.ts";
import { roleSchema, type Values } from "../../../wire/field-schema.ts";
import { flag, list, sent, text, unread } from "../../../wire/fields.ts";
import { fieldsOf, view } from "../../../wire/view.ts";
import { parsePrincipalArn, wildcardProblem } from "../arn.ts";
import { isPlainWord } from "../encoding.ts";

/** The kind of login of a role: by the signed document of an instance, or by a signed request of a principal. */
export type AuthType = "vm" | "iam";

/** The constraints of a role, in the order in which a role refuses those that it can't check. */
export const BOUND_FIELDS = [
  "bound_account_id",
  "bound_region",
  "bound_image_id",
  "bound_iam_instance_profile_arn",
  "bound_vm_instance_id",
  "bound_iam_role_arn",
  "bound_iam_principal_arn",
  "bound_vpc_id",
  "bound_subnet_id",
] as const;
type BoundField = (typeof BOUND_FIELDS)[number];

/** The only entity that can be inferred. */
export const INSTANCE_ENTITY = "vm_instance";

/** A role without its name, which is in lower case. */
export interface CloudRole {
  /** A later role of the same name has another id. */
  readonly roleId: string;
  /** Key of the HMAC of its tags, sealed for `tagKeyPurpose`. */
  readonly sealedTagKey: string;
  readonly authType: AuthType;
  /** A login must match one value of each list that is not empty. */
  readonly bounds: { readonly [F in BoundField]?: readonly string[] };
  /** Unique ids of the bound principals without a wildcard; empty when ids are not resolved. */
  readonly principalIds: readonly string[];
  readonly resolveUniqueIds: boolean;
  /** "" or `INSTANCE_ENTITY`. */
  readonly inferredEntityType: string;
  readonly inferredRegion: string;
  /** Key of the role tag on an instance; "" disables role tags. */
  readonly roleTag: string;
  readonly allowInstanceMigration: boolean;
  readonly disallowReauthentication: boolean;
  readonly token: TokenSettings;
}

/** True for a role that infers the instance of a principal. */
export function infersInstance(role: CloudRole | null): boolean {
  return role?.inferredEntityType === INSTANCE_ENTITY;
}

/** The purpose for which the tag key of a role is sealed. */
export function tagKeyPurpose(roleId: string): string {
  return `tag key of role ${roleId}`;
}

export const CLOUD_ROLE_FIELDS = roleSchema({
  role: unread("string").describe("The name of the role"),
  auth_type: sent(text()).describe("The kind of login: by principals or by instances; it can't be changed"),
  bound_account_id: sent(list()).describe("Accounts that may log in"),
  bound_region: sent(list()).describe("Regions that may log in"),
  bound_image_id: sent(list()).describe("Images whose instances may log in"),
  bound_iam_instance_profile_arn: sent(list()).describe("Instance profiles whose instances may log in"),
  bound_vm_instance_id: sent(list()).describe("Instances that may log in"),
  bound_iam_role_arn: sent(list()).describe("Roles whose instances may log in"),
  bound_iam_principal_arn: sent(list()).describe("Principals that may log in; `*` at the end is a wildcard"),
  bound_iam_principal_id: unread(["string"]).describe("Without effect: a read shows it"),
  bound_vpc_id: sent(list()).describe("VPCs whose instances may log in"),
  bound_subnet_id: sent(list()).describe("Subnets whose instances may log in"),
  role_tag: sent(text()).describe("The key of the tag that narrows the role for an instance"),
  inferred_entity_type: sent(text()).describe("The type of entity that is inferred from a principal"),
  inferred_cloud_region: sent(text()).describe("The region of the inferred instance"),
  resolve_cloud_unique_ids: sent(flag(false)).describe("False: principals are compared by ARN alone"),
  allow_instance_migration: sent(flag(false)).describe("True: an instance may log in again after a migration"),
  disallow_reauthentication: sent(flag(false)).describe("True: an instance may log in only once"),
  ...TOKEN_FIELDS,
});

export type CloudRoleFields = Omit<Values<typeof CLOUD_ROLE_FIELDS>, "role" | "bound_iam_principal_id">;

/** Maximum length of a stored role. Every login reads it. */
export const MAX_ROLE_LENGTH = 131_072;

/** The longest items are ARNs. */
const ITEM = /^[ -~]{1,2048}$/;
const REGION = /^[a-z0-9-]{0,32}$/;
const TAG_KEY = /^\P{Cc}{0,1024}$/u;

/** Returns the problem with the fields of a write, whatever is stored, or null. See `changeCloudRole`. */
export function cloudRoleProblem(sent: CloudRoleFields): string | null {
  for (const field of BOUND_FIELDS) {
    const items = sent[field] ?? [];
    const bad = items.findIndex((item) => !ITEM.test(item));
    if (bad >= 0) return `${field}: item ${bad + 1} is too long or holds characters that no such name has`;
  }
  const entity = entityTypeProblem(sent.inferred_entity_type ?? "");
  if (entity) return entity;
  if (!REGION.test(sent.inferred_cloud_region ?? "")) return "inferred_cloud_region is not the name of a region";
  if (!TAG_KEY.test(sent.role_tag ?? "")) return "role_tag can't be the key of a tag";
  return null;
}

/** Answer to a read: everything except the key of the tags. */
export const CLOUD_ROLE_VIEW = view<CloudRole>({
  ...Object.fromEntries(
    BOUND_FIELDS.map((field) => [field, [["string"], (role: CloudRole) => role.bounds[field] ?? []]]),
  ),
  auth_type: ["string", (role) => role.authType],
  bound_iam_principal_id: [["string"], (role) => role.principalIds],
  inferred_entity_type: ["string", (role) => role.inferredEntityType],
  inferred_cloud_region: ["string", (role) => role.inferredRegion],
  resolve_cloud_unique_ids: ["boolean", (role) => role.resolveUniqueIds],
  role_id: ["string", (role) => role.roleId],
  role_tag: ["string", (role) => role.roleTag],
  allow_instance_migration: ["boolean", (role) => role.allowInstanceMigration],
  disallow_reauthentication: ["boolean", (role) => role.disallowReauthentication],
  ...fieldsOf((role) => role.token, TOKEN_SETTINGS),
});

/** A write of a role, and what it depends on. `before` is null for the first write of a name. */
export interface RoleChangeInput {
  readonly before: CloudRole | null;
  readonly sent: CloudRoleFields;
  readonly mount: MountTtl;
  readonly fresh: Pick<CloudRole, "roleId" | "sealedTagKey">;
  /** Unique ids by ARN of the principals that were looked up for this write. */
  readonly resolved: Readonly<Record<string, string>>;
}

export type CloudRoleChange =
  | { readonly kind: "changed"; readonly role: CloudRole; readonly warnings: readonly string[] }
  /** The write is allowed, but the unique ids of these principals must be looked up first. */
  | { readonly kind: "unresolved"; readonly arns: readonly string[] };

/** Applies a write to a role. The first broken rule refuses it. Principals are looked up only if all others hold. */
export function changeCloudRole(input: RoleChangeInput): Result<CloudRoleChange> {
  const { before, sent, mount, fresh, resolved } = input;
  const limit = cloudRoleProblem(sent);
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
    const what = "principals without a wildcard can be bound while their unique ids are resolved";
    return refuse(`at most ${MAX_RESOLVED} ${what}`);
  }
  if (!arns.every((arn) => Object.hasOwn(resolved, arn))) return ok({ kind: "unresolved", arns });
  const principalIds = [...role.principalIds, ...arns.flatMap((arn) => resolved[arn] ?? [])];
  return ok({ kind: "changed", role: { ...role, principalIds }, warnings: token.value.warnings });
}

/** The type of a new or changed role. Messages here and below are those of the reference's AWS method (role). */
function chooseAuthType(before: CloudRole | null, sent: string | undefined): Result<AuthType, string> {
  const current = before?.authType ?? "iam";
  if (sent === undefined || sent === before?.authType) return ok(current);
  if (before) return err("changing auth_type on a role is not allowed");
  if (sent === "vm" || sent === "iam") return ok(sent);
  return err(isPlainWord(sent) ? `unrecognized auth_type: ${sent}` : "unrecognized auth_type");
}

function entityTypeProblem(type: string): string | null {
  if (type === "" || type === INSTANCE_ENTITY) return null;
  return isPlainWord(type)
    ? `specified invalid inferred_entity_type: ${type}`
    : "specified invalid inferred_entity_type";
}

function inferenceProblem(role: CloudRole): string | null {
  const { authType, inferredEntityType: type, inferredRegion: region } = role;
  if (type !== "" && authType !== "iam") return "specified inferred_entity_type but didn't allow iam auth_type";
  if (type !== "" && region === "") return "specified inferred_entity_type but not inferred_cloud_region";
  if (type === "" && region !== "") return "specified inferred_cloud_region but not inferred_entity_type";
  return null;
}

/** A constraint that no login checks is refused, since it would look like a protection. */
function boundsProblem(role: CloudRole): string | null {
  const bound = BOUND_FIELDS.filter((field) => (role.bounds[field] ?? []).length > 0);
  const checksInstance = role.authType === "vm" || infersInstance(role);
  for (const field of bound) {
    if (field === "bound_iam_principal_arn") {
      if (role.authType !== "iam") return "specified bound_iam_principal_arn but not specifying iam auth_type";
    } else if (!checksInstance) {
      return `specified ${field} but not specifying vm auth_type or inferring vm_instance`;
    }
  }
  if (bound.length === 0) return "at least one bound parameter should be specified on the role";
  for (const field of ["bound_iam_instance_profile_arn", "bound_iam_role_arn", "bound_iam_principal_arn"] as const) {
    for (const [index, arn] of (role.bounds[field] ?? []).entries()) {
      const problem = wildcardProblem(arn);
      if (problem) return `${field}: item ${index + 1}: ${problem}`;
    }
  }
  return null;
}

/** Refuses a flag that has no meaning for the role, unless it is false: a role can be written as it was read. */
function instanceFlagsProblem(role: CloudRole, sent: CloudRoleFields): string | null {
  if (role.authType !== "vm") {
    for (const field of ["disallow_reauthentication", "allow_instance_migration"] as const) {
      if (sent[field]) return `specified ${field} when not using vm auth type`;
    }
  }
  if (!role.disallowReauthentication || !role.allowInstanceMigration) return null;
  return "cannot specify both disallow_reauthentication=true and allow_instance_migration=true";
}

function roleTagProblem(role: CloudRole, sent: CloudRoleFields): string | null {
  if (!sent.role_tag) return null;
  if (role.authType !== "vm") return "tried to enable role_tag when not using vm auth method";
  // The cloud's limit for the key of a tag.
  const isLong = new TextEncoder().encode(sent.role_tag).length > 127;
  return isLong ? "length of role tag exceeds the VM key limit of 127 characters" : null;
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

/** Returns a warning when a principal never matches. Without unique ids it is compared by its canonical ARN, which has no path. */
export function unmatchableWarnings(role: CloudRole): string[] {
  if (role.resolveUniqueIds) return [];
  const isUnmatchable = (arn: string) => {
    const parsed = parsePrincipalArn(arn);
    return !parsed.ok || parsed.value.canonicalArn !== arn;
  };
  return exactPrincipals(role).some(isUnmatchable) ? [UNMATCHABLE] : [];
}

const UNMATCHABLE =
  "With resolve_cloud_unique_ids=false a bound_iam_principal_arn without a wildcard only matches in the form arn:<partition>:iam::<account>:<user|role>/<name>, without a path. At least one that was given has another form and never matches.";
