import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import { type CloudAnswer, readAnswer, readResult, unreadable } from "./answer.ts";
import { onlyChild, textAt, type XmlElement } from "./xml.ts";

/** A user or a role. Its ARN has its path. A later user or role of the same name has another unique ID. */
export type IamPrincipal = { readonly arn: PrincipalArn; readonly uniqueId: string };

/** A new access key. IAM returns the secret only once. */
export type AccessKey = { readonly accessKeyId: string; readonly secretAccessKey: string };

/** Reads the answer to GetUser for a user of `accountId`; null for the caller itself, whose account is not checked. */
export function readUser(answer: CloudAnswer, accountId: string | null): Result<IamPrincipal> {
  const user = readResult(answer, "IAM", "GetUser", "User");
  return user.ok ? readPrincipal(user.value, "user", "UserId", accountId) : user;
}

/** Reads the answer to GetRole for a role of `accountId`. */
export function readRole(answer: CloudAnswer, accountId: string): Result<IamPrincipal> {
  const role = readResult(answer, "IAM", "GetRole", "Role");
  return role.ok ? readPrincipal(role.value, "role", "RoleId", accountId) : role;
}

/** Reads the answer to GetInstanceProfile, whose profile must have one role. */
export function readInstanceProfileRole(answer: CloudAnswer, accountId: string): Result<IamPrincipal> {
  const profile = readResult(answer, "IAM", "GetInstanceProfile", "InstanceProfile");
  if (!profile.ok) return profile;
  const [role, ...more] = onlyChild(profile.value, "Roles")?.children ?? [];
  if (role === undefined || role.name !== "member" || more.length > 0) {
    return refuse("invalid roles in the output of instance profile details");
  }
  return readPrincipal(role, "role", "RoleId", accountId);
}

/** Reads the answer to CreateAccessKey. */
export function readCreatedAccessKey(answer: CloudAnswer): Result<AccessKey> {
  const key = readResult(answer, "IAM", "CreateAccessKey", "AccessKey");
  if (!key.ok) return key;
  const accessKeyId = textAt(key.value, "AccessKeyId");
  const secretAccessKey = textAt(key.value, "SecretAccessKey");
  if (accessKeyId === null || secretAccessKey === null) return err(unreadable("IAM"));
  return ok({ accessKeyId, secretAccessKey });
}

/** Reads the answer to DeleteAccessKey, which has no result. */
export function readDeletedAccessKey(answer: CloudAnswer): Result<null> {
  const deleted = readAnswer(answer, "IAM", "DeleteAccessKeyResponse");
  return deleted.ok ? ok(null) : deleted;
}

function readPrincipal(
  element: XmlElement,
  type: "user" | "role",
  idName: "UserId" | "RoleId",
  accountId: string | null,
): Result<IamPrincipal> {
  const arn = parsePrincipalArn(textAt(element, "Arn") ?? "");
  const uniqueId = textAt(element, idName);
  if (!arn.ok || arn.value.type !== type || uniqueId === null || !/^\w{1,128}$/.test(uniqueId)) {
    return err(unreadable("IAM"));
  }
  if (accountId !== null && arn.value.accountId !== accountId) {
    return refuse("IAM response names an ARN of another account");
  }
  return ok({ arn: arn.value, uniqueId });
}
