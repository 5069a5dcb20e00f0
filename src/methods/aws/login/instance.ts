import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { matchesBoundArn } from "../arn.ts";
import { findRunningInstance } from "../clients/instances.ts";
import { findProfileRole } from "../clients/principals.ts";
import type { INSTANCE_BOUNDS } from "../rules/checks.ts";
import type { CloudRole } from "../rules/role.ts";
import type { Attempt, Target } from "./attempt.ts";

/** The running instance of a login, with the role in its profile if that was looked up. */
interface CheckedInstance {
  readonly instance: VmInstance;
  readonly profileRole: IamPrincipal | null;
}

/**
 * Checks that an instance runs and satisfies the role of the login.
 *
 * @param withProfileRole looks the role in its profile up even if no constraint needs it.
 */
export async function checkInstance(
  target: Target,
  region: string,
  instanceId: string,
  withProfileRole: boolean,
  checks: Attempt["checks"],
): Promise<Result<CheckedInstance>> {
  const { role, roleName } = target;
  const found = await findRunningInstance(target, region, instanceId);
  const running = found.ok ? found : err(inContext("failed to verify instance ID", found.error));
  const judged = checks.record("instance", { actual: instanceId }, running);
  if (!judged.ok) return judged;
  const instance = judged.value;
  for (const check of checkBounds(role, roleName, { instance, region })) {
    const satisfied = judgeBound(checks, check);
    if (!satisfied.ok) return satisfied;
  }
  const bound = role.bounds.bound_iam_role_arn ?? [];
  if (!withProfileRole && bound.length === 0) {
    checks.record("bound_iam_role_arn", {}, ok(null));
    return ok({ instance, profileRole: null });
  }
  const profileRole = await lookUpProfileRole(target, instance);
  if (!profileRole.ok) return checks.record("bound_iam_role_arn", { bound }, profileRole);
  const satisfied = judgeBound(checks, checkProfileRole(role, roleName, profileRole.value.arn.arn));
  return satisfied.ok ? ok({ instance, profileRole: profileRole.value }) : satisfied;
}

async function lookUpProfileRole(target: Target, { instanceProfileArn }: VmInstance): Promise<Result<IamPrincipal>> {
  if (instanceProfileArn === null) return invalidInstance("IAM instance profile in the instance description is nil");
  const found = await findProfileRole(target, instanceProfileArn);
  return found.ok ? found : err(inContext("IAM role ARN could not be fetched", found.error));
}

function judgeBound(checks: Attempt["checks"], { field, bound, actual, problem }: BoundCheck): Result<null> {
  return checks.record(field, { bound, actual }, problem === null ? ok(null) : invalidInstance(problem));
}

function invalidInstance(problem: string): Result<never> {
  return refuse(`Error validating instance: ${problem}`);
}

/** The instance of a login. */
interface InstanceFacts {
  readonly instance: VmInstance;
  /** The region of the signed document, or the region that was searched. */
  readonly region: string;
}

/** A constraint of a role, compared with an instance. */
interface BoundCheck {
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
function checkBounds(role: CloudRole, roleName: string, { instance, region }: InstanceFacts): BoundCheck[] {
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
function checkProfileRole(role: CloudRole, roleName: string, roleArn: string): BoundCheck {
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
