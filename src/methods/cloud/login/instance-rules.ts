import type { VmInstance } from "../answers/ec2.ts";
import { matchesBoundArn } from "../arn.ts";
import type { BoundField, CloudRole } from "../roles/role.ts";

/** The instance of a login. */
export interface InstanceFacts {
  readonly instance: VmInstance;
  /** The region of the signed document, or the region that was searched. */
  readonly region: string;
}

/**
 * Which constraint of a role an instance does not satisfy, or null. A list that is not empty must hold the value; what
 * the cloud's description lacks satisfies none. The role of the instance is checked by `profileRoleProblem`, since it has
 * to be looked up.
 */
export function instanceProblem(role: CloudRole, roleName: string, { instance, region }: InstanceFacts): string | null {
  const checks: readonly [BoundField, string, string | null, string][] = [
    ["bound_region", "Region", region, SATISFY],
    ["bound_vm_instance_id", "instance ID", instance.instanceId, BELONG],
    ["bound_account_id", "account ID", instance.accountId, BELONG],
    ["bound_image_id", "image ID", instance.imageId, BELONG],
    ["bound_subnet_id", "subnet ID", instance.subnetId, SATISFY],
    ["bound_vpc_id", "VPC ID", instance.vpcId, SATISFY],
  ];
  for (const [field, what, value, problem] of checks) {
    const bound = role.bounds[field] ?? [];
    if (bound.length === 0 || (value !== null && bound.includes(value))) continue;
    return value === null ? missing(what) : `${what} "${value}" ${problem} role "${roleName}"`;
  }
  const profiles = role.bounds.bound_iam_instance_profile_arn ?? [];
  return arnProblem(profiles, "IAM instance profile ARN", instance.instanceProfileArn, roleName);
}

/** Why the role in the instance's profile does not satisfy the role of the login, or null. */
export function profileRoleProblem(role: CloudRole, roleName: string, roleArn: string): string | null {
  return arnProblem(role.bounds.bound_iam_role_arn ?? [], "IAM role ARN", roleArn, roleName);
}

const BELONG = "does not belong to";
const SATISFY = "does not satisfy the constraint on";

function arnProblem(bound: readonly string[], what: string, arn: string | null, roleName: string): string | null {
  if (bound.length === 0 || (arn !== null && bound.some((one) => matchesBoundArn(one, arn)))) return null;
  return arn === null ? missing(what) : `${what} "${arn}" ${SATISFY} role "${roleName}"`;
}

function missing(what: string): string {
  return `${what} in the instance description is nil`;
}
