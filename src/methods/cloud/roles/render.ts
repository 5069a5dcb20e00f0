import { renderTokenSettings } from "../../../auth/token-settings.ts";
import { BOUND_FIELDS, type CloudRole } from "./role.ts";

/** What a read shows of a role: everything but the key of its tags. */
export function renderRole(role: CloudRole): Record<string, unknown> {
  const bounds = Object.fromEntries(BOUND_FIELDS.map((field) => [field, role.bounds[field] ?? []]));
  return {
    ...bounds,
    // Clients know this one list as null until it was set.
    bound_vm_instance_id: role.bounds.bound_vm_instance_id ?? null,
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
