import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/generational-cache.ts";
import { err, inContext, ok, type Result } from "../../../base/result.ts";
import type { IamPrincipal } from "../answers/read-answers.ts";
import { matchesBoundArn } from "../arn.ts";
import { findPrincipal } from "../clients/principal-and-instance.ts";
import type { LoginRole } from "./login-role.ts";

/** How long a full ARN is cached. It changes when a user is moved to another path. */
const FULL_ARN_MS = 5 * 60_000;

/** Full ARNs by mount, configuration, account and unique ID. */
const fullArns = new ExpiringCache<string>(2048);

/**
 * Whether the role of a login is bound to a principal. While the role resolves unique ids, a bound ARN without a
 * wildcard means the id: a principal that was deleted and created again under the same name is another one. Otherwise
 * it is compared with the canonical ARN, which has no path. A wildcard applies to the ARN with its path, which STS
 * leaves out, so IAM is asked for it.
 */
export async function isBoundTo(target: LoginRole, principal: IamPrincipal): Promise<Result<boolean>> {
  const { role } = target;
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  const known = role.resolveUniqueIds
    ? role.principalIds.includes(principal.uniqueId)
    : bound.includes(principal.arn.canonicalArn);
  if (bound.length === 0 || known) return ok(true);
  const wildcards = bound.filter((arn) => arn.endsWith("*"));
  if (wildcards.length === 0) return ok(false);
  const found = await findFullArn(target, principal);
  if (!found.ok) return err(inContext("error looking up full ARN of the principal", found.error));
  const fullArn = found.value;
  return ok(fullArn !== null && wildcards.some((arn) => matchesBoundArn(arn, fullArn)));
}

/** The ARN of the principal with its path; null when another principal has its name by now. */
async function findFullArn(target: LoginRole, principal: IamPrincipal): Promise<Result<string | null>> {
  const { revision, accountId, stsRole } = target;
  const key = JSON.stringify([revision, accountId, stsRole, principal.uniqueId]);
  const now = currentTime();
  const known = fullArns.get(key, now);
  if (known !== undefined) return ok(known);
  const found = await findPrincipal(target, principal.arn);
  if (!found.ok) return found;
  if (found.value.uniqueId !== principal.uniqueId) return ok(null);
  fullArns.set(key, found.value.arn.arn, now + FULL_ARN_MS);
  return ok(found.value.arn.arn);
}
