import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/generational-cache.ts";
import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import { signMountToken } from "../../../issuer/published-keys.ts";
import {
  type CloudAnswer,
  type Credentials,
  errorCodeOf,
  readAssumedCredentials,
  readOwnAccount,
  type TemporaryCredentials,
} from "../answers/read-answers.ts";
import { type PrincipalArn, parsePrincipalArn } from "../arn.ts";
import type { Partition } from "../regions.ts";
import { type AccountClient, type ApiCall, type CloudClient, callApi, configuredKeys, stsCall } from "./client.ts";
import type { StsRole, WebIdentity } from "./client-config.ts";
import { forgetServerCredentials, serverCredentials } from "./server-credentials.ts";

/** The shortest session that STS gives: a permission that another account withdraws lasts no longer than this. */
const STS_ROLE_SECONDS = 900;
/** The default maximum duration of sessions of a role. */
const WEB_IDENTITY_SECONDS = 3600;
/** A session is not used for this time before it ends, so that it does not end during a call. */
const STS_ROLE_EARLY_MS = 2 * 60_000;
const WEB_IDENTITY_EARLY_MS = 5 * 60_000;
/** The account of a key never changes; the limit only bounds memory. */
const OWN_ACCOUNT_MS = 3_600_000;

/** Sessions of assumed roles: by `sessionKey`, and by the revision of the client for sessions from identity tokens. */
const sessions = new ExpiringCache<TemporaryCredentials>(640);
const ownAccounts = new ExpiringCache<string>(128);

/** Error codes that refuse the credentials, not the operation. */
const STALE_CODES: ReadonlySet<string> = new Set([
  ...["ExpiredToken", "ExpiredTokenException", "RequestExpired"],
  ...["InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure"],
]);

/** STS answers this while it can't fetch the issuer's keys, or has only those from before a rotation. */
const ALSO_TEMPORARY = ["IDPCommunicationError"];

/** Calls an operation with credentials of this account only. Cached ones that the cloud refuses are replaced once. */
export async function callForAccount(
  of: AccountClient,
  partition: Partition,
  call: ApiCall,
): Promise<Result<CloudAnswer>> {
  for (let fresh = false; ; fresh = true) {
    const base = await baseCredentials(of);
    if (!base.ok) return base;
    const credentials = await accountCredentials(of, partition, base.value);
    if (!credentials.ok) return credentials;
    const answer = await callApi(of, call, credentials.value);
    const stale = answer.ok && answer.value.status !== 200 && STALE_CODES.has(errorCodeOf(answer.value) ?? "");
    if (!stale || fresh || !forget(of, partition, base.value)) return answer;
  }
}

/** The credentials of the mount, from an identity token or a stored key; else those of the server. */
async function baseCredentials(client: CloudClient): Promise<Result<Credentials>> {
  const { webIdentity } = client.config;
  if (webIdentity) return webIdentityCredentials(client, webIdentity);
  const keys = await configuredKeys(client);
  if (!keys.ok) return keys;
  return keys.value ? ok(keys.value) : serverCredentials(client.env);
}

/**
 * The credentials for an account: those of its configured role, else the base credentials, if they belong to this
 * account. Without that comparison, credentials of one account would be used for instances and principals of any other.
 */
async function accountCredentials(of: AccountClient, partition: Partition, base: Credentials) {
  const { accountId, stsRole } = of;
  if (stsRole === null) {
    const own = await ownAccount(of, partition, base);
    if (!own.ok) return own;
    return own.value === accountId ? ok(base) : refuse(`no STS configuration found for account ID "${accountId}"`);
  }
  const role = parsePrincipalArn(stsRole.arn);
  const fits = role.ok && role.value.type === "role" && role.value.accountId === accountId;
  if (!fits || role.value.partition !== partition) {
    return refuse(`the STS configuration for account ID "${accountId}" is not the ARN of a role of that account`);
  }
  const key = sessionKey(of, stsRole, partition, base);
  const known = sessions.get(key, currentTime());
  if (known) return ok(known);
  const form = {
    DurationSeconds: String(STS_ROLE_SECONDS),
    ...(stsRole.externalId !== "" && { ExternalId: stsRole.externalId }),
  };
  const assumed = await assumeRole(of, role.value, form, base);
  if (assumed.ok) sessions.set(key, assumed.value, assumed.value.expiresAt - STS_ROLE_EARLY_MS);
  return assumed;
}

async function ownAccount(client: CloudClient, partition: Partition, base: Credentials): Promise<Result<string>> {
  // The session of this role was checked to be of the role's account when it was created.
  const role = client.config.webIdentity && parsePrincipalArn(client.config.webIdentity.roleArn);
  if (role?.ok) return ok(role.value.accountId);
  const key = JSON.stringify([client.revision, base.accessKeyId, partition]);
  const known = ownAccounts.get(key, currentTime());
  if (known !== undefined) return ok(known);
  const call = stsCall(client, partition, { Action: "GetCallerIdentity" });
  if (!call.ok) return call;
  const answer = await callApi(client, call.value, base);
  const account = answer.ok ? readOwnAccount(answer.value) : answer;
  if (account.ok) ownAccounts.set(key, account.value, currentTime() + OWN_ACCOUNT_MS);
  return account;
}

async function webIdentityCredentials(client: CloudClient, { roleArn, audience, ttl, key }: WebIdentity) {
  const known = sessions.get(client.revision, currentTime());
  if (known) return ok(known);
  const role = parsePrincipalArn(roleArn);
  if (!role.ok) return refuse("the configured role_arn is not the ARN of a role");
  const { env, installation, mount } = client;
  const token = await signMountToken(env, installation.keys, { mountAccessor: mount.accessor, audience, ttl, key });
  if (!token.ok) return token;
  const form = { DurationSeconds: String(WEB_IDENTITY_SECONDS), WebIdentityToken: token.value };
  const assumed = await assumeRole(client, role.value, form, null);
  if (assumed.ok) sessions.set(client.revision, assumed.value, assumed.value.expiresAt - WEB_IDENTITY_EARLY_MS);
  return assumed;
}

/** Assumes a role. `signer` is null for the operation that needs no signature, as its token proves who calls. */
async function assumeRole(client: CloudClient, role: PrincipalArn, form: ApiCall["form"], signer: Credentials | null) {
  const operation = signer ? "AssumeRole" : "AssumeRoleWithWebIdentity";
  const sent = { Action: operation, RoleArn: role.arn, RoleSessionName: "grove", ...form };
  const call = stsCall(client, role.partition, sent);
  if (!call.ok) return call;
  const answer = await callApi(client, call.value, signer, signer ? {} : { alsoTemporary: ALSO_TEMPORARY });
  const assumed = answer.ok ? readAssumedCredentials(answer.value, role.accountId, operation) : answer;
  if (assumed.ok || signer) return assumed;
  return err(inContext("error assuming role_arn by an identity token", assumed.error));
}

/** Drops cached credentials. False when none were cached: the next ones would be the same. */
function forget(of: AccountClient, partition: Partition, base: Credentials): boolean {
  if (of.stsRole) sessions.forget(sessionKey(of, of.stsRole, partition, base));
  if (base.sessionToken === null) return of.stsRole !== null;
  if (!of.config.webIdentity) return forgetServerCredentials() || of.stsRole !== null;
  sessions.forget(of.revision);
  return true;
}

function sessionKey({ revision, accountId }: AccountClient, role: StsRole, partition: Partition, base: Credentials) {
  return JSON.stringify([revision, accountId, role, partition, base.accessKeyId]);
}
