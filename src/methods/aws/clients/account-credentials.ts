import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import { type CloudAnswer, errorCodeOf } from "../answers/answer.ts";
import { type Credentials, readAssumedCredentials, readOwnAccount, type TemporaryCredentials } from "../answers/sts.ts";
import { parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import type { AccountClient, CloudClient } from "./client.ts";
import type { StsRole } from "./config.ts";
import { forgetServerCredentials, serverCredentials } from "./server-credentials.ts";
import { type ApiCall, callApi, stsCall } from "./sts.ts";

/**
 * The shortest session that STS gives. A permission that the owner of a satellite account withdraws ends after this
 * time at the latest.
 */
const SATELLITE_SECONDS = 900;
/** A session is left this long before it ends, so that calls under way do not outlive it. */
const SATELLITE_EARLY_MS = 2 * 60_000;
/** The default maximum duration of sessions of a role. */
const WEB_IDENTITY_SECONDS = 3600;
const WEB_IDENTITY_EARLY_MS = 5 * 60_000;
/** A key never changes its account; the limit only bounds memory. */
const OWN_ACCOUNT_MS = 3_600_000;

/** Sessions of satellite accounts that this isolate has, by `sessionKey`. */
const satelliteSessions = new ExpiringCache<TemporaryCredentials>(512);
/** Sessions that this isolate has got by identity tokens, by the revision of the client. */
const webIdentitySessions = new ExpiringCache<TemporaryCredentials>(128);
/** Accounts of the credentials that this isolate has used. */
const ownAccounts = new ExpiringCache<string>(128);

/** Error codes that refuse the credentials, not the operation. */
const STALE_CODES: ReadonlySet<string> = new Set([
  ...["ExpiredToken", "ExpiredTokenException", "RequestExpired"],
  ...["InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure"],
]);

/** What the cloud answers while it can't fetch the keys of the issuer, or has them from before a rotation. */
const ALSO_TEMPORARY: ReadonlySet<string> = new Set(["IDPCommunicationError"]);

/** An account that is asked about, with its partition. */
interface Asked extends AccountClient {
  readonly partition: Partition;
}

/**
 * Calls an operation about an account, with credentials that belong to that account and to no other. Credentials that
 * have gone stale before their time are got again, once.
 *
 * @param partition the account's.
 */
export async function callForAccount(
  { client, account }: AccountClient,
  partition: Partition,
  call: ApiCall,
): Promise<Result<CloudAnswer>> {
  const asked = { client, account, partition };
  for (let fresh = false; ; fresh = true) {
    const base = await baseCredentials(client);
    if (!base.ok) return base;
    const credentials = await credentialsFor(asked, base.value);
    if (!credentials.ok) return credentials;
    const answer = await callApi(client.policy, call, credentials.value);
    const stale = answer.ok && answer.value.status !== 200 && STALE_CODES.has(errorCodeOf(answer.value) ?? "");
    if (!stale || fresh || !forget(asked, base.value)) return answer;
  }
}

/** The credentials that the mount is configured with, by a stored key or by a role, else the server's own. */
async function baseCredentials(client: CloudClient): Promise<Result<Credentials>> {
  if (client.webIdentity) return webIdentityCredentials(client, client.webIdentity);
  const keys = await client.staticKeys();
  if (!keys.ok) return keys;
  return keys.value ? ok(keys.value) : serverCredentials(client.env);
}

/**
 * The credentials for an account: those of its configured role, else the given ones, if they are of this account. Without
 * the comparison, credentials of one account would answer for instances and principals of any other.
 */
async function credentialsFor(asked: Asked, base: Credentials): Promise<Result<Credentials>> {
  const { accountId, stsRole } = asked.account;
  if (stsRole !== null) return assumeRole(asked, stsRole, base);
  const own = await ownAccount(asked, base);
  if (!own.ok) return own;
  if (own.value === accountId) return ok(base);
  return refuse(`no STS configuration found for account ID "${accountId}"`);
}

async function assumeRole(asked: Asked, stsRole: StsRole, base: Credentials): Promise<Result<Credentials>> {
  const { client, partition } = asked;
  const { accountId } = asked.account;
  const role = parsePrincipalArn(stsRole.arn);
  const fits = role.ok && role.value.type === "role" && role.value.accountId === accountId;
  if (!fits || role.value.partition !== partition) {
    return refuse(`the STS configuration for account ID "${accountId}" is not the ARN of a role of that account`);
  }
  const key = sessionKey(asked, stsRole, base);
  const known = satelliteSessions.get(key, currentTime());
  if (known) return ok(known);
  const call = stsCall(client, partition, {
    Action: "AssumeRole",
    RoleArn: stsRole.arn,
    ...(stsRole.externalId !== "" && { ExternalId: stsRole.externalId }),
    RoleSessionName: "grove",
    DurationSeconds: String(SATELLITE_SECONDS),
  });
  if (!call.ok) return call;
  const answer = await callApi(client.policy, call.value, base);
  const assumed = answer.ok ? readAssumedCredentials(answer.value, accountId) : answer;
  if (assumed.ok) satelliteSessions.set(key, assumed.value, assumed.value.expiresAt - SATELLITE_EARLY_MS);
  return assumed;
}

async function ownAccount({ client, partition }: Asked, base: Credentials): Promise<Result<string>> {
  // The session was checked to be of the role's account when it was made.
  const role = client.webIdentity && parsePrincipalArn(client.webIdentity.roleArn);
  if (role?.ok) return ok(role.value.accountId);
  const key = JSON.stringify([client.revision, base.accessKeyId, partition]);
  const known = ownAccounts.get(key, currentTime());
  if (known !== undefined) return ok(known);
  const call = stsCall(client, partition, { Action: "GetCallerIdentity" });
  if (!call.ok) return call;
  const answer = await callApi(client.policy, call.value, base);
  const account = answer.ok ? readOwnAccount(answer.value) : answer;
  if (account.ok) ownAccounts.set(key, account.value, currentTime() + OWN_ACCOUNT_MS);
  return account;
}

/**
 * Credentials of the role that the mount assumes by a token of this service (AssumeRoleWithWebIdentity). The call needs no
 * signature: the token is what proves who asks.
 */
async function webIdentityCredentials(
  client: CloudClient,
  { roleArn, token }: NonNullable<CloudClient["webIdentity"]>,
): Promise<Result<TemporaryCredentials>> {
  const known = webIdentitySessions.get(client.revision, currentTime());
  if (known) return ok(known);
  const role = parsePrincipalArn(roleArn);
  if (!role.ok) return refuse("the configured role_arn is not the ARN of a role");
  const signed = await token();
  if (!signed.ok) return signed;
  const call = stsCall(client, role.value.partition, {
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: roleArn,
    RoleSessionName: "grove",
    DurationSeconds: String(WEB_IDENTITY_SECONDS),
    WebIdentityToken: signed.value,
  });
  if (!call.ok) return call;
  const answer = await callApi({ ...client.policy, alsoTemporary: ALSO_TEMPORARY }, call.value, null);
  const assumed = answer.ok
    ? readAssumedCredentials(answer.value, role.value.accountId, "AssumeRoleWithWebIdentity")
    : answer;
  if (!assumed.ok) return err(inContext("error assuming role_arn by an identity token", assumed.error));
  webIdentitySessions.set(client.revision, assumed.value, assumed.value.expiresAt - WEB_IDENTITY_EARLY_MS);
  return assumed;
}

/** Drops cached credentials. False when none were cached: fresh ones would be the same. */
function forget(asked: Asked, base: Credentials): boolean {
  const { client, account } = asked;
  const own = base.sessionToken !== null && forgetOwn(client);
  if (account.stsRole === null) return own;
  satelliteSessions.forget(sessionKey(asked, account.stsRole, base));
  return true;
}

function forgetOwn(client: CloudClient): boolean {
  if (!client.webIdentity) return forgetServerCredentials();
  webIdentitySessions.forget(client.revision);
  return true;
}

function sessionKey({ client, account, partition }: Asked, stsRole: StsRole, base: Credentials): string {
  return JSON.stringify([client.revision, account.accountId, stsRole, partition, base.accessKeyId]);
}
