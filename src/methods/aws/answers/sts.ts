import type { Failure } from "../../../base/errors.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { parseRfc3339 } from "../../../base/rfc3339.ts";
import { type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import { type CloudAnswer, readAnswer, unreadable } from "./answer.ts";
import { onlyChild, textAt, type XmlElement } from "./xml.ts";

/** Who signed a request, as STS says: a user or an assumed role. */
export type CallerIdentity = {
  readonly principal: PrincipalArn;
  /** 12 digits; the account of the ARN. */
  readonly accountId: string;
  /** As STS gives it: for an assumed role `<unique ID>:<session name>`. */
  readonly userId: string;
  /** The part before the colon: a new user or role of the same name has another one. */
  readonly uniqueId: string;
};

/** Credentials of an assumed role. */
export type AssumedCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** In ms. */
  readonly expiresAt: number;
};

const ACCOUNT_ID = /^\d{12}$/;
const USER_ID = /^[\w-]{1,128}(:[\w+=,.@-]{1,128})?$/;

/**
 * Reads the answer to a client's GetCallerIdentity: exactly one result, in which the ARN names a user or an assumed
 * role, in the partition that was asked and in the account that the answer states.
 */
export function readCallerIdentity(answer: CloudAnswer, partition: Partition): Result<CallerIdentity, Failure> {
  const result = readIdentityResult(answer);
  if (!result.ok) return result;
  const { arn, userId, accountId } = result.value;
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return err(invalid(`error parsing arn: ${principal.error}`));
  const { type } = principal.value;
  if (type !== "user" && type !== "assumed-role") {
    return err(invalid("error parsing arn: unrecognized principal type"));
  }
  if (principal.value.accountId !== accountId || principal.value.partition !== partition) {
    return err(invalid("STS response names an ARN of another account or partition"));
  }
  const [uniqueId = ""] = userId.split(":");
  return ok({ principal: principal.value, accountId, userId, uniqueId });
}

/** Reads the answer to this server's own GetCallerIdentity: the account of its credentials, of any kind of principal. */
export function readOwnAccount(answer: CloudAnswer): Result<string, Failure> {
  const result = readIdentityResult(answer);
  return result.ok ? ok(result.value.accountId) : result;
}

/** Operations that give credentials of a role. */
export type AssumeOperation = "AssumeRole" | "AssumeRoleWithWebIdentity";

/** Reads the answer to an operation that assumes a role. The role must be in the account that is asked for. */
export function readAssumedCredentials(
  answer: CloudAnswer,
  accountId: string,
  operation: AssumeOperation = "AssumeRole",
): Result<AssumedCredentials, Failure> {
  const document = readAnswer(answer, "STS", `${operation}Response`);
  if (!document.ok) return document;
  const result = onlyChild(document.value, `${operation}Result`);
  const credentials = result && onlyChild(result, "Credentials");
  const principal = parsePrincipalArn((result && textAt(result, "AssumedRoleUser", "Arn")) ?? "");
  if (!credentials || !principal.ok) return err(unreadable("STS"));
  if (principal.value.accountId !== accountId) return err(invalid("the assumed role is in another account"));
  const accessKeyId = textAt(credentials, "AccessKeyId");
  const secretAccessKey = textAt(credentials, "SecretAccessKey");
  const sessionToken = textAt(credentials, "SessionToken");
  const expiresAt = parseRfc3339(textAt(credentials, "Expiration") ?? "");
  if (accessKeyId === null || secretAccessKey === null || sessionToken === null || expiresAt === null) {
    return err(unreadable("STS"));
  }
  return ok({ accessKeyId, secretAccessKey, sessionToken, expiresAt });
}

function readIdentityResult(answer: CloudAnswer) {
  const document = readAnswer(answer, "STS", "GetCallerIdentityResponse");
  if (!document.ok) return document;
  const result: XmlElement | null = onlyChild(document.value, "GetCallerIdentityResult");
  const arn = result && textAt(result, "Arn");
  const userId = result && textAt(result, "UserId");
  const accountId = result && textAt(result, "Account");
  if (!arn || !userId || !accountId || !USER_ID.test(userId) || !ACCOUNT_ID.test(accountId)) {
    return err(unreadable("STS"));
  }
  return ok({ arn, userId, accountId });
}
