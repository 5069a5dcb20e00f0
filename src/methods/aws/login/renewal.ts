import type { LoginRenewal } from "../../../auth/kinds.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import type { RenewTerms } from "../../../token/rules/renew.ts";
import { parsePrincipalArn } from "../arn.ts";
import { findRunningInstance } from "../clients/principal-and-instance.ts";
import { accessShardFor, configurationForLogin } from "../mount/mount-config.ts";
import { infersInstance } from "../rules/role.ts";
import { memorySeconds, renewalTerms } from "../rules/role-grant.ts";
import { type LoginRole, targetOf } from "./login-role.ts";
import { isBoundTo } from "./principal-bounds.ts";
import { type InstanceData, type PrincipalData, readTokenData } from "./token-data.ts";

/**
 * Checks at a renewal whether the holder of a token may still have it: the data of its login must satisfy the role as
 * it is now, and the cloud is asked as at the login. If the cloud does not answer, the token is not renewed. Messages
 * are those of the reference's AWS method (renewal).
 */
export async function renewCloudLogin(renewal: LoginRenewal): Promise<Result<RenewTerms>> {
  const terms = await renew(renewal);
  return terms.ok ? terms : err(inContext("failed to renew entry", terms.error));
}

async function renew(renewal: LoginRenewal): Promise<Result<RenewTerms>> {
  const data = readTokenData(renewal.internal);
  const { accountId } = data;
  const { settings, role, stsRole } = await configurationForLogin(renewal, data.role, accountId);
  if (!role || role.authType !== data.kind) return refuse("role entry not found");
  const target = await targetOf(renewal, settings, { roleName: data.role, role }, { accountId, stsRole });
  return data.kind === "vm" ? renewInstance(renewal, target, data) : renewPrincipal(renewal, target, data);
}

/** The instance must run, and its entry must exist: an operator ends renewals by deleting the entry. */
async function renewInstance(
  { env, mount, token }: LoginRenewal,
  target: LoginRole,
  { instanceId, region, tagMaxTtl }: InstanceData,
): Promise<Result<RenewTerms>> {
  const found = await findRunningInstance(target, region, instanceId);
  if (!found.ok) return err(inContext("failed to verify instance ID", found.error));
  const { role } = target;
  const now = currentTime();
  const expiresAt = now + memorySeconds(role, tagMaxTtl, mountTtl(mount)) * 1000;
  const entry = await accessShardFor(env, mount, instanceId).list.extend(instanceId, expiresAt, now);
  if (!entry) return refuse("failed to verify the access list identity entry of the instance");
  return ok(renewalTerms(role, tagMaxTtl, token.explicitMaxTtl));
}

async function renewPrincipal({ token }: LoginRenewal, target: LoginRole, data: PrincipalData) {
  const { role, roleName } = target;
  if (infersInstance(role)) {
    if (data.inferredInstanceId === "") return refuse("no inferred entity ID found in the token");
    const found = await findRunningInstance(target, data.inferredRegion, data.inferredInstanceId);
    if (!found.ok) return err(inContext("failed to verify instance ID", found.error));
  }
  const arn = parsePrincipalArn(data.canonicalArn);
  if (!arn.ok) throw new Error("the ARN in a token was parsed at its login");
  const bound = await isBoundTo(target, { arn: arn.value, uniqueId: data.uniqueId });
  if (!bound.ok) return bound;
  if (!bound.value) return refuse(`role "${roleName}" no longer bound to ARN "${data.canonicalArn}"`);
  return ok(renewalTerms(role, 0, token.explicitMaxTtl));
}
