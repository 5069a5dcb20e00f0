import { type Failure, inContext, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { VmInstance } from "../answers/ec2.ts";
import type { IamPrincipal } from "../answers/iam.ts";
import { findRunningInstance } from "../clients/instances.ts";
import { findProfileRole } from "../clients/principals.ts";
import type { Target } from "./attempt.ts";
import { instanceProblem, profileRoleProblem } from "./instance-rules.ts";

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
): Promise<Result<CheckedInstance, Failure>> {
  const { client, account, role, roleName } = target;
  const found = await findRunningInstance(client, account, region, instanceId);
  if (!found.ok) return err(inContext("failed to verify instance ID", found.error));
  const instance = found.value;
  const problem = instanceProblem(role, roleName, { instance, region });
  if (problem) return refuse(problem);
  if (!withProfileRole && (role.bounds.bound_iam_role_arn ?? []).length === 0)
    return ok({ instance, profileRole: null });

  if (instance.instanceProfileArn === null) return refuse("IAM instance profile in the instance description is nil");
  const profileRole = await findProfileRole(client, account, instance.instanceProfileArn);
  if (!profileRole.ok) return err(inContext("IAM role ARN could not be fetched", profileRole.error));
  const roleProblem = profileRoleProblem(role, roleName, profileRole.value.arn.arn);
  return roleProblem ? refuse(roleProblem) : ok({ instance, profileRole: profileRole.value });
}

function refuse(problem: string): Result<never, Failure> {
  return err(invalid(`Error validating instance: ${problem}`));
}
