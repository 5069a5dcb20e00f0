import { matchesBoundArn, type PrincipalArn } from "../arn.ts";
import type { CloudRole } from "./role.ts";

/** Who signed the request of a login. */
export interface Principal {
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
export function matchPrincipal(role: CloudRole, principal: Principal): "bound" | "unbound" | "depends_on_full_arn" {
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  if (bound.length === 0) return "bound";
  const known = role.resolveUniqueIds
    ? role.principalIds.includes(principal.uniqueId)
    : bound.includes(principal.arn.canonicalArn);
  if (known) return "bound";
  return bound.some((arn) => arn.endsWith("*")) ? "depends_on_full_arn" : "unbound";
}

/** Whether a full ARN, path included, is under one of the wildcards of the role. */
export function matchesWildcard(role: CloudRole, fullArn: string): boolean {
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  return bound.some((arn) => arn.endsWith("*") && matchesBoundArn(arn, fullArn));
}
