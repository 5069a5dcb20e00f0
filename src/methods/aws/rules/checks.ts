import { LAST_CHECKS } from "../../../auth/login-attempt.ts";
import type { AuthType, BoundField } from "./role.ts";

/** Descriptions of the checks of a login, by name. */
export const CHECKS = {
  request: "The request has the fields of one kind of login.",
  role: "The role exists.",
  address: "The client's address is in a network that the role is bound to.",
  auth_type: "The role takes this kind of login.",
  document: "The document is signed by the cloud.",
  caller: "STS says who signed the request.",
  nonce: "The nonce has the form of one.",
  principal: "The principal is one that the role is bound to.",
  inferred_session: "The principal is a session of an assumed role, named like an instance.",
  instance: "The instance runs, by what the cloud says now.",
  bound_region: "The region is one that the role is bound to.",
  bound_vm_instance_id: "The instance is one that the role is bound to.",
  bound_account_id: "The account is one that the role is bound to.",
  bound_image_id: "The image is one that the role is bound to.",
  bound_subnet_id: "The subnet is one that the role is bound to.",
  bound_vpc_id: "The VPC is one that the role is bound to.",
  bound_iam_instance_profile_arn: "The instance profile is one that the role is bound to.",
  bound_iam_role_arn: "The role in the instance profile is one that the role is bound to.",
  inferred_role: "The role in the instance profile is the one whose session the principal is.",
  role_tag: "The instance has a genuine role tag, where the role wants one.",
  deny_list: "The role tag is not on the deny list.",
  access_list: "The access list lets the instance log in: it is its first login, or it knows the nonce.",
  signature_uses: "The signed request has not given as many tokens as it may.",
  ...LAST_CHECKS,
} as const satisfies Readonly<Record<string, string>>;

export type CheckName = keyof typeof CHECKS;

/** The constraints on an instance in the order of the checks. */
export const INSTANCE_BOUNDS = [
  "bound_region",
  "bound_vm_instance_id",
  "bound_account_id",
  "bound_image_id",
  "bound_subnet_id",
  "bound_vpc_id",
  "bound_iam_instance_profile_arn",
  "bound_iam_role_arn",
] as const satisfies readonly (CheckName & BoundField)[];

/** The checks of a kind of login in their order. */
export function checksOf(kind: AuthType, infersInstance: boolean): readonly CheckName[] {
  const begin = ["role", "address", "auth_type"] as const;
  const instance = ["instance", ...INSTANCE_BOUNDS] as const;
  const end = ["entity", "token"] as const;
  if (kind === "vm") {
    return [...begin, "document", "nonce", ...instance, "role_tag", "deny_list", "access_list", ...end];
  }
  const inferred = infersInstance ? (["inferred_session", ...instance, "inferred_role"] as const) : [];
  return [...begin, "caller", "principal", ...inferred, ...end];
}
