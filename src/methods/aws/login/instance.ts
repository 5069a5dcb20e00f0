import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { matchesBoundArn } from "../arn.ts";
import { findRunningInstance } from "../clients/instances.ts";
import { findProfileRole } from "../clients/principals.ts";
import { INSTANCE_BOUNDS } from "../rules/checks.ts";
import type { Attempt, Target } from "./attempt.ts";

/** The running instance of a login, and the role in its profile if that was looked up. */
interface CheckedInstance {
  readonly instance: VmInstance;
  readonly profileRole: IamPrincipal | null;
}

type InstanceBound = (typeof INSTANCE_BOUNDS)[number];

const BELONG = "does not belong to";
const SATISFY = "does not satisfy the constraint on";

/** The words of the message about a constraint. Messages are those of the reference's AWS method (login). */
const WORDS: Readonly<Record<InstanceBound, readonly [what: string, relation: string]>> = {
  bound_region: ["Region", SATISFY],
  bound_vm_instance_id: ["instance ID", BELONG],
  bound_account_id: ["account ID", BELONG],
  bound_image_id: ["image ID", BELONG],
  bound_subnet_id: ["subnet ID", SATISFY],
  bound_vpc_id: ["VPC ID", SATISFY],
  bound_iam_instance_profile_arn: ["IAM instance profile ARN", SATISFY],
  bound_iam_role_arn: ["IAM role ARN", SATISFY],
};

/**
 * Checks that an instance runs and satisfies the role of the login.
 *
 * @param region of the signed document, or the region to search.
 * @param withProfileRole looks up the role in the instance's profile even if no constraint needs it.
 */
export async function checkInstance(
  target: Target,
  region: string,
  instanceId: string,
  withProfileRole: boolean,
  checks: Attempt["checks"],
): Promise<Result<CheckedInstance>> {
  const found = await findRunningInstance(target, region, instanceId);
  const running = found.ok ? found : err(inContext("failed to verify instance ID", found.error));
  const judged = checks.record("instance", { actual: instanceId }, running);
  if (!judged.ok) return judged;
  const instance = judged.value;
  const values = {
    bound_region: region,
    bound_vm_instance_id: instance.instanceId,
    bound_account_id: instance.accountId,
    bound_image_id: instance.imageId,
    bound_subnet_id: instance.subnetId,
    bound_vpc_id: instance.vpcId,
    bound_iam_instance_profile_arn: instance.instanceProfileArn,
  };
  for (const field of INSTANCE_BOUNDS) {
    if (field === "bound_iam_role_arn") continue;
    const satisfied = checkBound(target, field, values[field], checks);
    if (!satisfied.ok) return satisfied;
  }

  const bound = target.role.bounds.bound_iam_role_arn ?? [];
  if (!withProfileRole && bound.length === 0) {
    checks.record("bound_iam_role_arn", {}, ok(null));
    return ok({ instance, profileRole: null });
  }
  const profileRole = await lookUpProfileRole(target, instance);
  if (!profileRole.ok) return checks.record("bound_iam_role_arn", { bound }, profileRole);
  const satisfied = checkBound(target, "bound_iam_role_arn", profileRole.value.arn.arn, checks);
  return satisfied.ok ? ok({ instance, profileRole: profileRole.value }) : satisfied;
}

/** A constraint that is set must have the value. A value that the cloud's description lacks (null) satisfies none. */
function checkBound(
  { role, roleName }: Target,
  field: InstanceBound,
  actual: string | null,
  checks: Attempt["checks"],
): Result<null> {
  const bound = role.bounds[field] ?? [];
  const matches = (one: string, value: string) =>
    field.endsWith("_arn") ? matchesBoundArn(one, value) : one === value;
  const satisfied = bound.length === 0 || (actual !== null && bound.some((one) => matches(one, actual)));
  const [what, relation] = WORDS[field];
  const problem =
    actual === null
      ? `${what} in the instance description is nil`
      : `${what} "${actual}" ${relation} role "${roleName}"`;
  return checks.record(field, { bound, actual }, satisfied ? ok(null) : invalidInstance(problem));
}

async function lookUpProfileRole(target: Target, { instanceProfileArn }: VmInstance): Promise<Result<IamPrincipal>> {
  if (instanceProfileArn === null) return invalidInstance("IAM instance profile in the instance description is nil");
  const found = await findProfileRole(target, instanceProfileArn);
  return found.ok ? found : err(inContext("IAM role ARN could not be fetched", found.error));
}

function invalidInstance(problem: string): Result<never> {
  return refuse(`Error validating instance: ${problem}`);
}
