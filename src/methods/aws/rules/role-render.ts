import { renderTokenSettings, TOKEN_SETTINGS_SHAPE } from "../../../auth/token-settings.ts";
import type { Shape } from "../../../wire/shape.ts";
import { BOUND_FIELDS, type CloudRole } from "./role.ts";

/** The shape of a read. */
export const ROLE_SHAPE = {
  auth_type: "string",
  bound_account_id: ["string"],
  bound_region: ["string"],
  bound_image_id: ["string"],
  bound_iam_instance_profile_arn: ["string"],
  bound_vm_instance_id: ["string"],
  bound_iam_role_arn: ["string"],
  bound_iam_principal_arn: ["string"],
  bound_iam_principal_id: ["string"],
  bound_vpc_id: ["string"],
  bound_subnet_id: ["string"],
  inferred_entity_type: "string",
  inferred_cloud_region: "string",
  resolve_cloud_unique_ids: "boolean",
  role_id: "string",
  role_tag: "string",
  allow_instance_migration: "boolean",
  disallow_reauthentication: "boolean",
  ...TOKEN_SETTINGS_SHAPE,
} as const satisfies Shape;

/** What a read shows of a role: everything but the key of its tags. */
export function renderRole(role: CloudRole): Record<string, unknown> {
  const bounds = Object.fromEntries(BOUND_FIELDS.map((field) => [field, role.bounds[field] ?? []]));
  return {
    ...bounds,
    auth_type: role.authType,
    bound_iam_principal_id: role.principalIds,
    inferred_entity_type: role.inferredEntityType,
    inferred_cloud_region: role.inferredRegion,
    resolve_cloud_unique_ids: role.resolveUniqueIds,
    role_id: role.roleId,
    role_tag: role.roleTag,
    allow_instance_migration: role.allowInstanceMigration,
    disallow_reauthentication: role.disallowReauthentication,
    ...renderTokenSettings(role.token),
  };
}
