import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { parsePrincipalArn } from "../arn.ts";

const ARN = /^[!-~]{1,2048}$/;

/** Checks the role to assume for an account. "" is the absence of one. */
export function readStsRole(arn: string): Result<string, Failure> {
  if (arn === "") return err(invalid("sts role cannot be empty"));
  return ARN.test(arn) ? ok(arn) : err(invalid("sts role is not an ARN"));
}

/** A warning about an association that is stored all the same, or null. */
export function stsRoleWarning(accountId: string, arn: string): string | null {
  const role = parsePrincipalArn(arn);
  if (!role.ok || role.value.type !== "role") {
    return "sts_role is not the ARN of a role; logins of instances in this account will fail";
  }
  if (role.value.accountId === accountId) return null;
  return "sts_role is a role of another account; it can't see the instances of this one";
}
