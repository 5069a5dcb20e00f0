import type { VmInstance } from "../answers/ec2.ts";
import { matchesBoundArn } from "../arn.ts";
import type { INSTANCE_BOUNDS } from "./checks.ts";
import type { CloudRole } from "./role.ts";

/** The instance of a login. */
export interface InstanceFacts {
  readonly instance: VmInstance;
  /** The region of the signed document, or the region that was searched. */
  readonly region: string;
}

/** A constraint of a role, compared with an instance. */
export interface BoundCheck {
  readonly field: InstanceBound;
  /** Empty where the role asks for nothing. */
  readonly bound: readonly string[];
  /** null when the cloud's description lacks it. */
  readonly actual: string | null;
  /** Why the instance does not satisfy it, or null. */
  readonly problem: string | null;
}

/**
 * The constraints of a role on an instance. A list that is not empty must hold the value; what the cloud's description lacks
 * satisfies none. The role in the instance's profile is checked by `checkProfileRole`, since it has to be looked up.
 * Messages are those of the reference's AWS method (login).
 */
export function checkBounds(role: CloudRole, roleName: string, { instance, region }: InstanceFacts): BoundCheck[] {
  const check = checkOf(role, roleName);
  const { instanceId, accountId, imageId, subnetId, vpcId, instanceProfileArn } = instance;
  return [
    check("bound_region", "Region", region, SATISFY),
    check("bound_vm_instance_id", "instance ID", instanceId, BELONG),
    check("bound_account_id", "account ID", accountId, BELONG),
    check("bound_image_id", "image ID", imageId, BELONG),
    check("bound_subnet_id", "subnet ID", subnetId, SATISFY),
    check("bound_vpc_id", "VPC ID", vpcId, SATISFY),
    check("bound_iam_instance_profile_arn", "IAM instance profile ARN", instanceProfileArn, SATISFY, matchesBoundArn),
  ];
}

/** The constraint on the role in the instance's profile. */
export function checkProfileRole(role: CloudRole, roleName: string, roleArn: string): BoundCheck {
  return checkOf(role, roleName)("bound_iam_role_arn", "IAM role ARN", roleArn, SATISFY, matchesBoundArn);
}

type InstanceBound = (typeof INSTANCE_BOUNDS)[number];

const BELONG = "does not belong to";
const SATISFY = "does not satisfy the constraint on";

function checkOf(role: CloudRole, roleName: string) {
  return (
    field: InstanceBound,
    what: string,
    actual: string | null,
    relation: string,
    matches: (bound: string, actual: string) => boolean = (one, other) => one === other,
  ): BoundCheck => {
    const bound = role.bounds[field] ?? [];
    const satisfied = bound.length === 0 || (actual !== null && bound.some((one) => matches(one, actual)));
    const problem =
      actual === null
        ? `${what} in the instance description is nil`
        : `${what} "${actual}" ${relation} role "${roleName}"`;
    return { field, bound, actual, problem: satisfied ? null : problem };
  };
}
