import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { findRunningInstance } from "../clients/instances.ts";
import { findProfileRole } from "../clients/principals.ts";
import { type BoundCheck, checkBounds, checkProfileRole } from "../rules/instance.ts";
import type { Attempt, Target } from "./attempt.ts";

/** The running instance of a login, with the role in its profile if that was looked up. */
export interface CheckedInstance {
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
