import { parseRfc3339 } from "../../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import { type CloudAnswer, readResult, unreadable } from "./answer.ts";
import { textAt } from "./xml.ts";

/** The signer of a request according to STS: a user or an assumed role. */
export type CallerIdentity = {
  readonly principal: PrincipalArn;
  /** 12 digits; also the account of the ARN. */
  readonly accountId: string;
  /** As STS returns it: for an assumed role `<unique ID>:<session name>`. */
  readonly userId: string;
  /** The part of `userId` before the colon. A new user or role of the same name has another one. */
  readonly uniqueId: string;
};

/** Credentials that sign calls to the cloud. */
export type Credentials = {
  readonly accessKeyId: string;
  /** A secret. */
  readonly secretAccessKey: string;
  /** A secret; null for the keys of a user. */
  readonly sessionToken: string | null;
};

/** Credentials with an expiry. */
export type TemporaryCredentials = Credentials & {
  /** ms. */
  readonly expiresAt: number;
};

const ACCOUNT_ID = /^\d{12}$/;
const USER_ID = /^[\w-]{1,128}(:[\w+=,.@-]{1,128})?$/;

/**
 * Reads the answer to a client's GetCallerIdentity. Its ARN must be that of a user or an assumed role, in `partition`
 * and in the account of the answer.
 */
export function readCallerIdentity(answer: CloudAnswer, partition: Partition): Result<CallerIdentity> {
  const result = readIdentityResult(answer);
  if (!result.ok) return result;
  const { arn, userId, accountId } = result.value;
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return refuse(`error parsing arn: ${principal.error}`);
  const { type } = principal.value;
  if (type !== "user" && type !== "assumed-role") {
    return refuse("error parsing arn: unrecognized principal type");
  }
  if (principal.value.accountId !== accountId || principal.value.partition !== partition) {
    return refuse("STS response names an ARN of another account or partition");
  }
  const [uniqueId = ""] = userId.split(":");
  return ok({ principal: principal.value, accountId, userId, uniqueId });
}

/** Reads the account from the answer to the server's own GetCallerIdentity. Its principal may be of any type. */
export function readOwnAccount(answer: CloudAnswer): Result<string> {
  const result = readIdentityResult(answer);
  return result.ok ? ok(result.value.accountId) : result;
}

/** Operations that return credentials of a role. */
export type AssumeOperation = "AssumeRole" | "AssumeRoleWithWebIdentity";

/** Reads the answer to an operation that assumes a role of `accountId`. */
export function readAssumedCredentials(
  answer: CloudAnswer,
  accountId: string,
  operation: AssumeOperation = "AssumeRole",
): Result<TemporaryCredentials> {
  const result = readResult(answer, "STS", operation);
  if (!result.ok) return result;
  const principal = parsePrincipalArn(textAt(result.value, "AssumedRoleUser", "Arn") ?? "");
  if (!principal.ok) return err(unreadable("STS"));
  if (principal.value.accountId !== accountId) return refuse("the assumed role is in another account");
  const accessKeyId = textAt(result.value, "Credentials", "AccessKeyId");
  const secretAccessKey = textAt(result.value, "Credentials", "SecretAccessKey");
  const sessionToken = textAt(result.value, "Credentials", "SessionToken");
  const expiresAt = parseRfc3339(textAt(result.value, "Credentials", "Expiration") ?? "");
  if (accessKeyId === null || secretAccessKey === null || sessionToken === null || expiresAt === null) {
    return err(unreadable("STS"));
  }
  return ok({ accessKeyId, secretAccessKey, sessionToken, expiresAt });
}

function readIdentityResult(answer: CloudAnswer) {
  const result = readResult(answer, "STS", "GetCallerIdentity");
  if (!result.ok) return result;
  const arn = textAt(result.value, "Arn");
  const userId = textAt(result.value, "UserId");
  const accountId = textAt(result.value, "Account");
  if (!arn || !userId || !accountId || !USER_ID.test(userId) || !ACCOUNT_ID.test(accountId)) {
    return err(unreadable("STS"));
  }
  return ok({ arn, userId, accountId });
}
