import * as z from "zod";
import { flag, integer, sent, sentDuration, text } from "../../../wire/fields.ts";
import { list } from "../fields.ts";

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
  token_ttl: sentDuration(),
  token_max_ttl: sentDuration(),
  token_explicit_max_ttl: sentDuration(),
  token_period: sentDuration(),
  token_policies: sent(list()),
  token_bound_cidrs: sent(list()),
  token_strictly_bind_ip: sent(flag(false)),
  token_no_default_policy: sent(flag(false)),
  token_num_uses: sent(integer()),
  token_type: sent(text()),
  policies: sent(list()),
  ttl: sentDuration(),
  max_ttl: sentDuration(),
  period: sentDuration(),
});

/** A write of a role, read but not judged. */
export type RoleFields = Omit<z.infer<typeof ROLE_FIELDS>, "role">;
