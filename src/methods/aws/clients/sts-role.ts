import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { parsePrincipalArn } from "../arn.ts";

/** The role to assume for the instances and principals of an account. */
export type StsRole = {
  readonly arn: string;
  /** What the trust policy of the role asks for, so that no other customer can have the server assume it; "" without one. */
  readonly externalId: string;
};

/** What a request says about it. A field that was not sent is undefined. */
export type StsRoleFields = { readonly [Name in keyof StsRole]: string | undefined };

const ARN = /^[!-~]{1,2048}$/;
/** As STS allows it. */
const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

/**
 * Checks the fields of a request. "" is no role, and removes the external id.
 * Messages are those of the reference's AWS method (config/sts).
 */
export function readStsRole({ arn, externalId }: StsRoleFields): Result<StsRoleFields, Failure> {
  if (arn === "") return err(invalid("sts role cannot be empty"));
  if (arn !== undefined && !ARN.test(arn)) return err(invalid("sts role is not an ARN"));
  if (externalId && !EXTERNAL_ID.test(externalId)) {
    return err(invalid("external_id is not an external ID: 2 to 1224 letters, digits and any of +=,.@:/-_"));
  }
  return ok({ arn, externalId });
}

/** The role after a write. Fields that are undefined keep what is there; the first write of an account needs the ARN. */
export function changeStsRole(before: StsRole | null, fields: StsRoleFields): Result<StsRole, Failure> {
  const arn = fields.arn ?? before?.arn;
  if (arn === undefined) return err(invalid("missing sts role"));
  return ok({ arn, externalId: fields.externalId ?? before?.externalId ?? "" });
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
