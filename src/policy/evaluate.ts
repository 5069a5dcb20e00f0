import type { AccessRequest, Acl, Verdict } from "./acl.ts";
import { requiresSudo } from "./protected.ts";

const REFUSED = { allowed: false, create: false, update: false, limit: null, grantedBy: [] } as const;

/**
 * Evaluates an ACL for a request at the moment `now` (ms): the capability of its operation, the limits of the deciding rule, and on a
 * protected path `sudo` as well. Where there is an alternate path, what is granted on either is granted, and `deny` on
 * either refuses.
 */
export function evaluateAcl(acl: Acl, request: AccessRequest, now: number): Verdict {
  const { path, alternatePath } = request;
  const verdict = evaluatePath(acl, request, now);
  if (alternatePath === undefined || verdict.isRoot) return verdict;
  if (acl.denies(path, now) || acl.denies(alternatePath, now)) return { ...verdict, ...REFUSED, sudo: false };
  const alternate = evaluatePath(acl, { ...request, path: alternatePath }, now);
  if (!verdict.allowed) return alternate;
  if (!alternate.allowed) return verdict;
  return {
    ...verdict,
    sudo: verdict.sudo || alternate.sudo,
    create: verdict.create || alternate.create,
    update: verdict.update || alternate.update,
    grantedBy: [...new Set([...verdict.grantedBy, ...alternate.grantedBy])],
  };
}

/** What a caller may do on a path with an alternate, as `Acl.capabilities` tells it for one. */
export function capabilitiesOfBoth(acl: Acl, path: string, alternatePath: string, now: number): string[] {
  if (acl.denies(path, now) || acl.denies(alternatePath, now)) return ["deny"];
  const both = [...acl.capabilities(path, now), ...acl.capabilities(alternatePath, now)];
  const given = [...new Set(both.filter((capability) => capability !== "deny"))].sort();
  return given.length === 0 ? ["deny"] : given;
}

function evaluatePath(acl: Acl, request: AccessRequest, now: number): Verdict {
  const verdict = acl.check(request, now);
  if (!verdict.allowed || verdict.sudo || !requiresSudo(request.operation, request.path)) return verdict;
  return { ...verdict, ...REFUSED };
}
