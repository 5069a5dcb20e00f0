import type { AccessRequest, Acl, Verdict } from "./acl.ts";
import { requiresSudo } from "./protected.ts";

/**
 * Judges a request at the moment `now` (ms): the capability of its operation, the limits of the deciding rule, and on a
 * protected path `sudo` as well.
 */
export function authorize(acl: Acl, request: AccessRequest, now: number): Verdict {
  const verdict = acl.check(request, now);
  if (!verdict.allowed || verdict.sudo || !requiresSudo(request.operation, request.path)) return verdict;
  return { ...verdict, allowed: false, create: false, update: false, limit: null, grantedBy: [] };
}
