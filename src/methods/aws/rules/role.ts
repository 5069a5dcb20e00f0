import type { TokenSettings } from "../../../auth/token-settings.ts";
import type { SealedText } from "../secrets.ts";

/** How a role is logged in to: by the signed document of an instance, or by a signed request of a principal. */
export type AuthType = "vm" | "iam";

/**
 * The constraints of a role, by the names of their fields, in the order in which a role refuses those that it can't
 * check.
 */
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

/** A login against a role must match one value of each list that is not empty. Absent: never set. */
export type Bounds = { readonly [F in BoundField]?: readonly string[] };

/** The only entity that can be inferred. */
export const INSTANCE_ENTITY = "vm_instance";

/** What a login needs to fulfil, and what it gets. Names of roles are in lower case and not part of them. */
export interface CloudRole {
  /** Names this role and no later one of the same name. */
  readonly roleId: string;
  /** Key of the HMAC over its tags, sealed for `tagKeyPurpose`. */
  readonly sealedTagKey: SealedText;
  readonly authType: AuthType;
  readonly bounds: Bounds;
  /** Unique ids of the principals in `bound_iam_principal_arn` that have no wildcard; empty while ids are not resolved. */
  readonly principalIds: readonly string[];
  readonly resolveUniqueIds: boolean;
  /** "" or `vm_instance`. */
  readonly inferredEntityType: string;
  readonly inferredRegion: string;
  /** Key of the tag on an instance; "" without role tags. */
  readonly roleTag: string;
  readonly allowInstanceMigration: boolean;
  readonly disallowReauthentication: boolean;
  readonly token: TokenSettings;
}

/** The purpose that the tag key of a role is sealed for. */
export function tagKeyPurpose(roleId: string): string {
  return `tag key of role ${roleId}`;
}

/** True when logins against the role end at an instance, whose properties its constraints can name. */
export function checksInstance(role: Pick<CloudRole, "authType" | "inferredEntityType">): boolean {
  return role.authType === "vm" || role.inferredEntityType === INSTANCE_ENTITY;
}
