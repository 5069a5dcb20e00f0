import { TOKEN_FIELDS, TOKEN_SETTINGS, type TokenSettings } from "../../../auth/token-settings.ts";
import { flag, list, roleSchema, sent, text, unread, type Values } from "../../../wire/fields.ts";
import { fieldsOf, view } from "../../../wire/view.ts";
import type { SealedText } from "../secrets.ts";

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
export type BoundField = (typeof BOUND_FIELDS)[number];

/** A login must match one value of each list that is not empty. */
export type Bounds = { readonly [F in BoundField]?: readonly string[] };

/** The only entity that can be inferred. */
export const INSTANCE_ENTITY = "vm_instance";

/** A role without its name, which is in lower case. */
export interface CloudRole {
  /** A later role of the same name has another id. */
  readonly roleId: string;
  /** Key of the HMAC of its tags, sealed for `tagKeyPurpose`. */
  readonly sealedTagKey: SealedText;
  readonly authType: AuthType;
  readonly bounds: Bounds;
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

/** The purpose for which the tag key of a role is sealed. */
export function tagKeyPurpose(roleId: string): string {
  return `tag key of role ${roleId}`;
}

/** True when a login checks an instance, so that the role may have constraints on it. */
export function checksInstance(role: Pick<CloudRole, "authType" | "inferredEntityType">): boolean {
  return role.authType === "vm" || role.inferredEntityType === INSTANCE_ENTITY;
}

export const ROLE_FIELDS = roleSchema({
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

/** A write of a role, parsed but not validated. */
export type RoleFields = Omit<Values<typeof ROLE_FIELDS>, "role" | "bound_iam_principal_id">;

/** Maximum length of a stored role. Every login reads it. */
export const MAX_ROLE_LENGTH = 131_072;

/** The longest items are ARNs. */
const ITEM = /^[ -~]{1,2048}$/;
const REGION = /^[a-z0-9-]{0,32}$/;
const TAG_KEY = /^\P{Cc}{0,1024}$/u;

/** Why a field is too long or malformed, or null. */
export function roleFieldsProblem(sent: RoleFields): string | null {
  for (const field of BOUND_FIELDS) {
    const items = sent[field] ?? [];
    const bad = items.findIndex((item) => !ITEM.test(item));
    if (bad >= 0) return `${field}: item ${bad + 1} is too long or holds characters that no such name has`;
  }
  if (!REGION.test(sent.inferred_cloud_region ?? "")) return "inferred_cloud_region is not the name of a region";
  if (!TAG_KEY.test(sent.role_tag ?? "")) return "role_tag can't be the key of a tag";
  return null;
}

/** Answer to a read: everything except the key of the tags. */
export const ROLE_VIEW = view<CloudRole>({
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
