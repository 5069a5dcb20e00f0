import { TOKEN_FIELDS } from "../../../auth/token-settings.ts";
import { fieldSchema, flag, list, sent, text, unread, type Values } from "../../../wire/fields.ts";

/** The fields of a role as a client sends them; undefined when not sent. Durations in seconds, possibly negative. */
export const ROLE_FIELDS = fieldSchema({
  role: unread("string").describe("The name of the role"),
  auth_type: sent(text()).describe("Who logs in: principals or instances; it can't be changed"),
  bound_account_id: sent(list()).describe("Accounts that may log in"),
  bound_region: sent(list()).describe("Regions that may log in"),
  bound_image_id: sent(list()).describe("Images whose instances may log in"),
  bound_iam_instance_profile_arn: sent(list()).describe("Instance profiles whose instances may log in"),
  bound_vm_instance_id: sent(list()).describe("Instances that may log in"),
  bound_iam_role_arn: sent(list()).describe("Roles whose instances may log in"),
  bound_iam_principal_arn: sent(list()).describe("Principals that may log in; `*` at the end for all below"),
  bound_vpc_id: sent(list()).describe("VPCs whose instances may log in"),
  bound_subnet_id: sent(list()).describe("Subnets whose instances may log in"),
  role_tag: sent(text()).describe("The key of the tag that narrows the role for an instance"),
  inferred_entity_type: sent(text()).describe("The instance that a principal is taken for"),
  inferred_cloud_region: sent(text()).describe("The region of that instance"),
  resolve_cloud_unique_ids: sent(flag(false)).describe("False: principals are compared by ARN alone"),
  allow_instance_migration: sent(flag(false)).describe("True: an instance may log in again after it was moved"),
  disallow_reauthentication: sent(flag(false)).describe("True: an instance logs in once"),
  ...TOKEN_FIELDS,
});

/** A write of a role, parsed but not validated. */
export type RoleFields = Omit<Values<typeof ROLE_FIELDS>, "role">;
