import * as z from "zod";
import { TOKEN_FIELDS } from "../../../auth/token-settings.ts";
import { flag, list, sent, text } from "../../../wire/fields.ts";

/** The fields of a role as a client sends them; undefined when not sent. Durations in seconds, possibly negative. */
export const ROLE_FIELDS = z.object({
  role: z.unknown().optional(),
  auth_type: sent(text()),
  bound_account_id: sent(list()),
  bound_region: sent(list()),
  bound_image_id: sent(list()),
  bound_iam_instance_profile_arn: sent(list()),
  bound_vm_instance_id: sent(list()),
  bound_iam_role_arn: sent(list()),
  bound_iam_principal_arn: sent(list()),
  bound_vpc_id: sent(list()),
  bound_subnet_id: sent(list()),
  role_tag: sent(text()),
  inferred_entity_type: sent(text()),
  inferred_cloud_region: sent(text()),
  resolve_cloud_unique_ids: sent(flag(false)),
  allow_instance_migration: sent(flag(false)),
  disallow_reauthentication: sent(flag(false)),
  ...TOKEN_FIELDS,
});

/** A write of a role, parsed but not validated. */
export type RoleFields = Omit<z.infer<typeof ROLE_FIELDS>, "role">;
