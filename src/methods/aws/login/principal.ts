import { currentTime } from "../../../base/clock.ts";
import { type Failure, inContext } from "../../../base/errors.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { findPrincipal } from "../clients/principals.ts";
import { matchesWildcard, matchPrincipal, type Principal } from "../rules/principal.ts";
import type { Target } from "./attempt.ts";

/** How long a full ARN is cached: it changes when a user is moved to another path. */
const FULL_ARN_MS = 5 * 60_000;

/** Full ARNs by mount, configuration and unique ID. */
const fullArns = new ExpiringCache<string>(2048);

/** Whether the role of a login is bound to a principal. Asks IAM when a wildcard decides it. */
export async function isBoundTo(target: Target, principal: Principal): Promise<Result<boolean, Failure>> {
  const match = matchPrincipal(target.role, principal);
  if (match !== "depends_on_full_arn") return ok(match === "bound");
  const fullArn = await findFullArn(target, principal);
  if (!fullArn.ok) return err(inContext("error looking up full ARN of the principal", fullArn.error));
  return ok(fullArn.value !== null && matchesWildcard(target.role, fullArn.value));
}

/** The ARN of the principal with its path; null when the principal of this name is another one by now. */
async function findFullArn({ client, account }: Target, principal: Principal): Promise<Result<string | null, Failure>> {
  const { accountId, stsRole } = account;
  const key = JSON.stringify([client.revision, accountId, stsRole, principal.uniqueId]);
  const now = currentTime();
  const known = fullArns.get(key, now);
  if (known !== undefined) return ok(known);
  const found = await findPrincipal(client, account, principal.arn);
  if (!found.ok) return found;
  if (found.value.uniqueId !== principal.uniqueId) return ok(null);
  fullArns.set(key, found.value.arn.arn, now + FULL_ARN_MS);
  return ok(found.value.arn.arn);
}
