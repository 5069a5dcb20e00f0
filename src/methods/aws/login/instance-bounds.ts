import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import type { IamPrincipal, VmInstance } from "../answers/read-answers.ts";
import { matchesBoundArn } from "../arn.ts";
import { findProfileRole, findRunningInstance } from "../clients/principal-and-instance.ts";
import { infersInstance } from "../rules/role.ts";
import { CheckList, type Judged } from "./check-list.ts";
import type { Begun, LoginRole, LoginTarget } from "./login-role.ts";

/** A login for the instance that its proof names. */
export type OfInstance = Begun &
  LoginTarget & { readonly sought: { readonly region: string; readonly instanceId: string } };

const BELONG = "does not belong to";
const SATISFY = "does not satisfy the constraint on";

/** The words of the message about a constraint. Messages are those of the reference's AWS method (login). */
const WORDS = {
  bound_region: ["Region", SATISFY],
  bound_vm_instance_id: ["instance ID", BELONG],
  bound_account_id: ["account ID", BELONG],
  bound_image_id: ["image ID", BELONG],
  bound_subnet_id: ["subnet ID", SATISFY],
  bound_vpc_id: ["VPC ID", SATISFY],
  bound_iam_instance_profile_arn: ["IAM instance profile ARN", SATISFY],
  bound_iam_role_arn: ["IAM role ARN", SATISFY],
} as const;

/** Finds the instance of a login. An error when it does not run, or the cloud gives no answer. */
export async function findInstance(target: LoginRole, { region, instanceId }: OfInstance["sought"]) {
  const found = await findRunningInstance(target, region, instanceId);
  return found.ok ? ok({ instance: found.value }) : err(inContext("failed to verify instance ID", found.error));
}

type Bound = keyof typeof WORDS;

/** The check of a constraint on an instance by one value of it. */
export function bound(field: Bound, read: (known: OfInstance & { readonly instance: VmInstance }) => string | null) {
  const list = CheckList.of<OfInstance & { readonly instance: VmInstance }>();
  return list.check(field, (known) => judgeBound(known.target, field, read(known), {}));
}

/** The role in the profile is looked up only for a constraint, or where the caller's role must be the same. */
export async function judgeProfileRole(
  target: LoginRole,
  instance: VmInstance,
): Promise<Judged<{ readonly profileRole: IamPrincipal | null }>> {
  const bound = target.role.bounds.bound_iam_role_arn ?? [];
  if (!infersInstance(target.role) && bound.length === 0) return { result: ok({ profileRole: null }) };
  const found = await lookUpProfileRole(target, instance);
  if (!found.ok) return { bound, result: found };
  return judgeBound(target, "bound_iam_role_arn", found.value.arn.arn, { profileRole: found.value });
}

/** A constraint that is set must have the value. A value that the cloud's description lacks (null) satisfies none. */
function judgeBound<T>({ role, roleName }: LoginRole, field: Bound, actual: string | null, found: T): Judged<T> {
  const bound = role.bounds[field] ?? [];
  const isArn = field.endsWith("_arn");
  const matches = (one: string) => actual !== null && (isArn ? matchesBoundArn(one, actual) : one === actual);
  const [what, relation] = WORDS[field];
  const differs = `${what} "${actual}" ${relation} role "${roleName}"`;
  const problem = actual === null ? `${what} in the instance description is nil` : differs;
  const satisfied = bound.length === 0 || bound.some(matches);
  return { bound, actual, result: satisfied ? ok(found) : invalidInstance(problem) };
}

async function lookUpProfileRole(target: LoginRole, { instanceProfileArn }: VmInstance): Promise<Result<IamPrincipal>> {
  if (instanceProfileArn === null) return invalidInstance("IAM instance profile in the instance description is nil");
  const found = await findProfileRole(target, instanceProfileArn);
  return found.ok ? found : err(inContext("IAM role ARN could not be fetched", found.error));
}

function invalidInstance(problem: string): Result<never> {
  return refuse(`Error validating instance: ${problem}`);
}
