import { type Ms, parseRfc3339 } from "../../../base/clock.ts";
import { type SentAnswer, serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { ACCOUNT_ID, type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import { onlyChild, parseXml, textAt, type XmlElement } from "./xml.ts";

export type CloudAnswer = Omit<SentAnswer, "retryAfterSeconds">;

/** The service of a call, also for messages. */
export type Service = "STS" | "EC2" | "IAM";

/** Maximum size of an answer. The longest describes as many instances as a call may have, with the longest tags. */
export const MAX_ANSWER_BYTES: Readonly<Record<Service, number>> = {
  STS: 256 * 1024,
  IAM: 256 * 1024,
  EC2: 2 * 1024 * 1024,
};

/** Error codes of throttling and of temporary failures. They count with any status. */
const TEMPORARY_CODES: ReadonlySet<string> = new Set([
  ...["Throttling", "ThrottlingException", "RequestThrottled", "RequestThrottledException", "RequestLimitExceeded"],
  ...["TooManyRequestsException", "ServiceUnavailable", "Unavailable", "InternalError", "InternalFailure"],
]);

const MAX_REFUSAL_LENGTH = 64 * 1024;

/**
 * Reads the document of an answer: status 200, type text/xml, well-formed, with the root element of the operation.
 * Anything else could be text of an attacker, so no message has more of a refusal than its status and error code.
 */
function readAnswer(answer: CloudAnswer, service: Service, root: string): Result<XmlElement> {
  if (answer.status !== 200) return err(refusalOf(answer, service));
  if (!/^text\/xml(; ?charset=utf-8)?$/i.test(answer.contentType ?? "")) {
    return refuse(`answer of ${service} is not of the type text/xml`);
  }
  const document = answer.body.length > MAX_ANSWER_BYTES[service] ? null : parseXml(answer.body);
  return document?.name === root ? ok(document) : unreadable(service);
}

function readResult(answer: CloudAnswer, service: Service, operation: string, ...path: string[]): Result<XmlElement> {
  const document = readAnswer(answer, service, `${operation}Response`);
  if (!document.ok) return document;
  const result = onlyChild(document.value, `${operation}Result`, ...path);
  return result === null ? unreadable(service) : ok(result);
}

function unreadable(service: Service): Result<never> {
  return refuse(`error parsing ${service} response`);
}

/** The error code of a refusal, such as `SignatureDoesNotMatch`; null without one. */
export function errorCodeOf(answer: CloudAnswer): string | null {
  const document = answer.body.length > MAX_REFUSAL_LENGTH ? null : parseXml(answer.body);
  if (document === null) return null;
  // STS and IAM: ErrorResponse/Error; EC2: Response/Errors/Error.
  const code = textAt(document, "Error", "Code") ?? textAt(document, "Errors", "Error", "Code");
  return code !== null && /^[A-Za-z.]{1,64}$/.test(code) ? code : null;
}

/** True when the same request may succeed later. */
export function isTemporary(answer: CloudAnswer): boolean {
  if (answer.status === 200) return false;
  return answer.status >= 500 || answer.status === 429 || TEMPORARY_CODES.has(errorCodeOf(answer) ?? "");
}

function refusalOf(answer: CloudAnswer, service: Service): Failure {
  const code = errorCodeOf(answer);
  const message = `received error code ${answer.status} from ${service}${code === null ? "" : `: ${code}`}`;
  return isTemporary(answer) ? serviceUnavailable(message) : invalid(message);
}

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

/** Credentials that sign calls to the cloud: an id and two secrets. The token is null for the keys of a user. */
export type Credentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
};

export type TemporaryCredentials = Credentials & { readonly expiresAt: Ms };

const USER_ID = /^[\w-]{1,128}(:[\w+=,.@-]{1,128})?$/;

/** Reads the answer to a client's GetCallerIdentity: a user or an assumed role, in `partition` and its own account. */
export function readCallerIdentity(answer: CloudAnswer, partition: Partition): Result<CallerIdentity> {
  const result = readIdentityResult(answer);
  if (!result.ok) return result;
  const { arn, userId, accountId } = result.value;
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return refuse(`error parsing arn: ${principal.error}`);
  const { type } = principal.value;
  if (type !== "user" && type !== "assumed-role") return refuse("error parsing arn: unrecognized principal type");
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

/** Reads the answer to an operation that assumes a role of `accountId`. */
export function readAssumedCredentials(
  answer: CloudAnswer,
  accountId: string,
  operation: "AssumeRole" | "AssumeRoleWithWebIdentity" = "AssumeRole",
): Result<TemporaryCredentials> {
  const result = readResult(answer, "STS", operation);
  if (!result.ok) return result;
  const principal = parsePrincipalArn(textAt(result.value, "AssumedRoleUser", "Arn") ?? "");
  if (!principal.ok) return unreadable("STS");
  if (principal.value.accountId !== accountId) return refuse("the assumed role is in another account");
  const accessKeyId = textAt(result.value, "Credentials", "AccessKeyId");
  const secretAccessKey = textAt(result.value, "Credentials", "SecretAccessKey");
  const sessionToken = textAt(result.value, "Credentials", "SessionToken");
  const expiresAt = parseRfc3339(textAt(result.value, "Credentials", "Expiration") ?? "");
  const isWhole = accessKeyId !== null && secretAccessKey !== null && sessionToken !== null && expiresAt !== null;
  return isWhole ? ok({ accessKeyId, secretAccessKey, sessionToken, expiresAt }) : unreadable("STS");
}

function readIdentityResult(answer: CloudAnswer) {
  const result = readResult(answer, "STS", "GetCallerIdentity");
  if (!result.ok) return result;
  const arn = textAt(result.value, "Arn");
  const userId = textAt(result.value, "UserId");
  const accountId = textAt(result.value, "Account");
  const isWhole = arn && userId && accountId && USER_ID.test(userId) && ACCOUNT_ID.test(accountId);
  return isWhole ? ok({ arn, userId, accountId }) : unreadable("STS");
}

/** A user or a role. Its ARN has its path. A later user or role of the same name has another unique ID. */
export type IamPrincipal = { readonly arn: PrincipalArn; readonly uniqueId: string };

/** Reads the answer to GetUser for a user of `accountId`; null for the caller itself, whose account is not checked. */
export function readUser(answer: CloudAnswer, accountId: string | null): Result<IamPrincipal> {
  const user = readResult(answer, "IAM", "GetUser", "User");
  return user.ok ? readPrincipal(user.value, "user", accountId) : user;
}

/** Reads the answer to GetRole for a role of `accountId`. */
export function readRole(answer: CloudAnswer, accountId: string): Result<IamPrincipal> {
  const role = readResult(answer, "IAM", "GetRole", "Role");
  return role.ok ? readPrincipal(role.value, "role", accountId) : role;
}

/** Reads the answer to GetInstanceProfile, whose profile must have one role. */
export function readInstanceProfileRole(answer: CloudAnswer, accountId: string): Result<IamPrincipal> {
  const profile = readResult(answer, "IAM", "GetInstanceProfile", "InstanceProfile");
  if (!profile.ok) return profile;
  const [role, ...more] = onlyChild(profile.value, "Roles")?.children ?? [];
  if (role === undefined || role.name !== "member" || more.length > 0) {
    return refuse("invalid roles in the output of instance profile details");
  }
  return readPrincipal(role, "role", accountId);
}

/** Reads the answer to CreateAccessKey: the new access key. IAM returns its secret only once. */
export function readCreatedAccessKey(answer: CloudAnswer): Result<Omit<Credentials, "sessionToken">> {
  const key = readResult(answer, "IAM", "CreateAccessKey", "AccessKey");
  if (!key.ok) return key;
  const accessKeyId = textAt(key.value, "AccessKeyId");
  const secretAccessKey = textAt(key.value, "SecretAccessKey");
  return accessKeyId === null || secretAccessKey === null ? unreadable("IAM") : ok({ accessKeyId, secretAccessKey });
}

/** Reads the answer to DeleteAccessKey, which has no result. */
export function readDeletedAccessKey(answer: CloudAnswer): Result<null> {
  const deleted = readAnswer(answer, "IAM", "DeleteAccessKeyResponse");
  return deleted.ok ? ok(null) : deleted;
}

function readPrincipal(element: XmlElement, type: "user" | "role", accountId: string | null): Result<IamPrincipal> {
  const arn = parsePrincipalArn(textAt(element, "Arn") ?? "");
  const uniqueId = textAt(element, type === "user" ? "UserId" : "RoleId");
  if (!arn.ok || arn.value.type !== type || !uniqueId || !/^\w{1,128}$/.test(uniqueId)) return unreadable("IAM");
  if (accountId !== null && arn.value.accountId !== accountId) {
    return refuse("IAM response names an ARN of another account");
  }
  return ok({ arn: arn.value, uniqueId });
}

/** An instance as the cloud describes it. An absent part of the description is null. */
export type VmInstance = {
  readonly instanceId: string;
  /** The owner of the instance: 12 digits. */
  readonly accountId: string;
  readonly state: string | null;
  readonly imageId: string | null;
  readonly subnetId: string | null;
  readonly vpcId: string | null;
  readonly instanceProfileArn: string | null;
  readonly tags: ReadonlyMap<string, string>;
};

/** Reads the answer to DescribeInstances: the instances by id. All must belong to `accountId`, and none may repeat. */
export function readInstances(answer: CloudAnswer, accountId: string): Result<ReadonlyMap<string, VmInstance>> {
  const document = readAnswer(answer, "EC2", "DescribeInstancesResponse");
  if (!document.ok) return document;
  const instances = new Map<string, VmInstance>();
  for (const reservation of items(document.value, "reservationSet")) {
    if (textAt(reservation, "ownerId") !== accountId) return refuse("instance belongs to another account");
    for (const item of items(reservation, "instancesSet")) {
      const instance = readInstance(item, accountId);
      if (instance === null || instances.has(instance.instanceId)) return unreadable("EC2");
      instances.set(instance.instanceId, instance);
    }
  }
  return ok(instances);
}

/** Returns the instance if it was found and runs. */
export function runningInstance(instance: VmInstance | null): Result<VmInstance> {
  if (instance === null) return refuse("no reservations found in instance description");
  if (instance.state === null) return refuse("instance state in instance description is nil");
  if (instance.state !== "running") return refuse("instance is not in 'running' state");
  return ok(instance);
}

function readInstance(item: XmlElement, accountId: string): VmInstance | null {
  const instanceId = textAt(item, "instanceId");
  const tags = readTags(item);
  if (instanceId === null || tags === null) return null;
  return {
    instanceId,
    accountId,
    state: textAt(item, "instanceState", "name"),
    imageId: textAt(item, "imageId"),
    subnetId: textAt(item, "subnetId"),
    vpcId: textAt(item, "vpcId"),
    instanceProfileArn: textAt(item, "iamInstanceProfile", "arn"),
    tags,
  };
}

function items(element: XmlElement, set: string): readonly XmlElement[] {
  return onlyChild(element, set)?.children.filter((child) => child.name === "item") ?? [];
}

/** Null when a key is repeated: the cloud's keys are unique. */
function readTags(instance: XmlElement): ReadonlyMap<string, string> | null {
  const tags = new Map<string, string>();
  for (const item of items(instance, "tagSet")) {
    const key = textAt(item, "key");
    const value = onlyChild(item, "value");
    if (key === null || value === null || value.children.length > 0 || tags.has(key)) return null;
    tags.set(key, value.text);
  }
  return tags;
}
