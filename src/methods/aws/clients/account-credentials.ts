import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, invalid, ok, type Result } from "../../../base/result.ts";
import { type CloudAnswer, errorCodeOf } from "../answers/answer.ts";
import { type Credentials, readAssumedCredentials, readOwnAccount, type TemporaryCredentials } from "../answers/sts.ts";
import { parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import type { CloudAccount, CloudClient } from "./client.ts";
import type { StsRole } from "./config.ts";
import { forgetServerCredentials, serverCredentials } from "./server-credentials.ts";
import { type ApiCall, callApi, stsCall } from "./sts.ts";
import { forgetWebIdentitySession, webIdentityCredentials } from "./web-identity.ts";

/**
 * The shortest session that STS gives. A permission that the owner of a satellite account withdraws ends after this
 * time at the latest.
 */
const SESSION_SECONDS = 900;
/** A session is left this long before it ends, so that calls under way do not outlive it. */
const EARLY_MS = 2 * 60_000;
/** A key never changes its account; the limit only bounds memory. */
const OWN_ACCOUNT_MS = 3_600_000;

/** Sessions of satellite accounts that this isolate has, by `sessionKey`. */
const sessions = new ExpiringCache<TemporaryCredentials>(512);
/** Accounts of the credentials that this isolate has used. */
const ownAccounts = new ExpiringCache<string>(128);

/** Error codes that refuse the credentials, not the operation. */
const STALE_CODES: ReadonlySet<string> = new Set([
  ...["ExpiredToken", "ExpiredTokenException", "RequestExpired"],
  ...["InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure"],
]);

/**
 * Calls an operation about an account, with credentials that belong to that account and to no other. Credentials that
 * have gone stale before their time are got again, once.
 *
 * @param partition the account's.
 */
export async function callForAccount(
  client: CloudClient,
  account: CloudAccount,
  partition: Partition,
  call: ApiCall,
): Promise<Result<CloudAnswer>> {
  for (let fresh = false; ; fresh = true) {
    const base = await baseCredentials(client);
    if (!base.ok) return base;
    const credentials = await credentialsFor(client, account, partition, base.value);
    if (!credentials.ok) return credentials;
    const answer = await callApi(client.policy, call, credentials.value);
    const stale = answer.ok && answer.value.status !== 200 && STALE_CODES.has(errorCodeOf(answer.value) ?? "");
    if (!stale || fresh || !forget(client, account, partition, base.value)) return answer;
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
async function credentialsFor(
  client: CloudClient,
  account: CloudAccount,
  partition: Partition,
  base: Credentials,
): Promise<Result<Credentials>> {
  if (account.stsRole !== null) return assumeRole(client, account.accountId, account.stsRole, partition, base);
  const own = await ownAccount(client, partition, base);
  if (!own.ok) return own;
  if (own.value === account.accountId) return ok(base);
  return err(invalid(`no STS configuration found for account ID "${account.accountId}"`));
}

async function assumeRole(
  client: CloudClient,
  accountId: string,
  stsRole: StsRole,
  partition: Partition,
  base: Credentials,
): Promise<Result<Credentials>> {
  const role = parsePrincipalArn(stsRole.arn);
  if (
    !role.ok ||
    role.value.type !== "role" ||
    role.value.accountId !== accountId ||
    role.value.partition !== partition
  ) {
    return err(invalid(`the STS configuration for account ID "${accountId}" is not the ARN of a role of that account`));
  }
  const key = sessionKey(client, accountId, stsRole, partition, base);
  const known = sessions.get(key, currentTime());
  if (known) return ok(known);
  const call = stsCall(client, partition, {
    Action: "AssumeRole",
    RoleArn: stsRole.arn,
    ...(stsRole.externalId !== "" && { ExternalId: stsRole.externalId }),
    RoleSessionName: "grove",
    DurationSeconds: String(SESSION_SECONDS),
  });
  if (!call.ok) return call;
  const answer = await callApi(client.policy, call.value, base);
  const assumed = answer.ok ? readAssumedCredentials(answer.value, accountId) : answer;
  if (assumed.ok) sessions.set(key, assumed.value, assumed.value.expiresAt - EARLY_MS);
  return assumed;
}

async function ownAccount(client: CloudClient, partition: Partition, base: Credentials): Promise<Result<string>> {
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

/** Drops cached credentials. False when none were cached: fresh ones would be the same. */
function forget(client: CloudClient, account: CloudAccount, partition: Partition, base: Credentials): boolean {
  const own = base.sessionToken !== null && forgetOwn(client);
  if (account.stsRole === null) return own;
  sessions.forget(sessionKey(client, account.accountId, account.stsRole, partition, base));
  return true;
}

function forgetOwn(client: CloudClient): boolean {
  if (!client.webIdentity) return forgetServerCredentials();
  forgetWebIdentitySession(client);
  return true;
}

function sessionKey(
  client: CloudClient,
  accountId: string,
  stsRole: StsRole,
  partition: Partition,
  base: Credentials,
): string {
  return JSON.stringify([client.revision, accountId, stsRole, partition, base.accessKeyId]);
}
