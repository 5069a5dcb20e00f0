import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, inContext, ok, type Result } from "../../../base/result.ts";
import { matchesBoundArn, type PrincipalArn } from "../arn.ts";
import { findPrincipal } from "../clients/principals.ts";
import type { CloudRole } from "../rules/role.ts";
import type { Target } from "./attempt.ts";

/** How long a full ARN is cached: it changes when a user is moved to another path. */
const FULL_ARN_MS = 5 * 60_000;

/** Full ARNs by mount, configuration and unique ID. */
const fullArns = new ExpiringCache<string>(2048);

/** Whether the role of a login is bound to a principal. Asks IAM when a wildcard decides it. */
export async function isBoundTo(target: Target, principal: Principal): Promise<Result<boolean>> {
  const match = matchPrincipal(target.role, principal);
  if (match !== "depends_on_full_arn") return ok(match === "bound");
  const fullArn = await findFullArn(target, principal);
  if (!fullArn.ok) return err(inContext("error looking up full ARN of the principal", fullArn.error));
  return ok(fullArn.value !== null && matchesWildcard(target.role, fullArn.value));
}

/** The ARN of the principal with its path; null when the principal of this name is another one by now. */
async function findFullArn(target: Target, principal: Principal): Promise<Result<string | null>> {
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

/** Who signed the request of a login. */
interface Principal {
  readonly arn: PrincipalArn;
  readonly uniqueId: string;
}

/**
 * Whether a principal is one that the role is bound to, as far as that is known without asking IAM.
 *
 * With unique ids resolved, a principal without a wildcard is known by its id alone: one that was deleted and made again
 * under its name is another one. Otherwise it is known by its canonical ARN, without its path. A wildcard is about the
 * ARN with the path, which STS leaves out: then IAM has to be asked.
 */
function matchPrincipal(role: CloudRole, principal: Principal): "bound" | "unbound" | "depends_on_full_arn" {
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  if (bound.length === 0) return "bound";
  const known = role.resolveUniqueIds
    ? role.principalIds.includes(principal.uniqueId)
    : bound.includes(principal.arn.canonicalArn);
  if (known) return "bound";
  return bound.some((arn) => arn.endsWith("*")) ? "depends_on_full_arn" : "unbound";
}

/** Whether a full ARN, path included, is under one of the wildcards of the role. */
function matchesWildcard(role: CloudRole, fullArn: string): boolean {
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  return bound.some((arn) => arn.endsWith("*") && matchesBoundArn(arn, fullArn));
}
