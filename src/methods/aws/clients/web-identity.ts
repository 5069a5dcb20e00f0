import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, inContext, invalid, ok, type Result } from "../../../base/result.ts";
import { readAssumedCredentials, type TemporaryCredentials } from "../answers/sts.ts";
import { parsePrincipalArn } from "../arn.ts";
import type { CloudClient } from "./client.ts";
import { callApi, stsCall } from "./sts.ts";

/** The default maximum duration of sessions of a role. */
const SESSION_SECONDS = 3600;
/** A session is left this long before it ends, so that calls under way do not outlive it. */
const EARLY_MS = 5 * 60_000;

/** Sessions that this isolate has, by the revision of the client. */
const sessions = new ExpiringCache<TemporaryCredentials>(128);

/** What the cloud answers while it can't fetch the keys of the issuer, or has them from before a rotation. */
const ALSO_TEMPORARY: ReadonlySet<string> = new Set(["IDPCommunicationError"]);

/**
 * Credentials of the role that the mount assumes by a token of this service (AssumeRoleWithWebIdentity). The call needs no
 * signature: the token is what proves who asks.
 */
export async function webIdentityCredentials(
  client: CloudClient,
  { roleArn, token }: NonNullable<CloudClient["webIdentity"]>,
): Promise<Result<TemporaryCredentials>> {
  const known = sessions.get(client.revision, currentTime());
  if (known) return ok(known);
  const role = parsePrincipalArn(roleArn);
  if (!role.ok) return err(invalid("the configured role_arn is not the ARN of a role"));
  const signed = await token();
  if (!signed.ok) return signed;
  const call = stsCall(client, role.value.partition, {
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: roleArn,
    RoleSessionName: "grove",
    DurationSeconds: String(SESSION_SECONDS),
    WebIdentityToken: signed.value,
  });
  if (!call.ok) return call;
  const answer = await callApi({ ...client.policy, alsoTemporary: ALSO_TEMPORARY }, call.value, null);
  const assumed = answer.ok
    ? readAssumedCredentials(answer.value, role.value.accountId, "AssumeRoleWithWebIdentity")
    : answer;
  if (!assumed.ok) return err(inContext("error assuming role_arn by an identity token", assumed.error));
  sessions.set(client.revision, assumed.value, assumed.value.expiresAt - EARLY_MS);
  return assumed;
}

/** Makes the next call assume the role again. */
export function forgetWebIdentitySession(client: CloudClient): void {
  sessions.forget(client.revision);
}
