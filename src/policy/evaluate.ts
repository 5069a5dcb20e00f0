import type { Ms } from "../base/clock.ts";
import { type AccessRequest, type Acl, type OtherPaths, REFUSED, type Trace, type Verdict } from "./acl.ts";
import { NO_NAME, type RequestedResource, spellingsOf } from "./path-spellings.ts";

/**
 * Evaluates an ACL for all paths of a request at `now`, each by `Acl.check`. With an alternate path, the request
 * is granted what is granted on either path. A `deny` on any spelling of the path refuses. `trace` receives the steps,
 * of which `decisiveStep` selects one.
 */
export function evaluateAcl(acl: Acl, request: AccessRequest, now: Ms, trace?: Trace): Verdict {
  const { alternatePath } = request;
  const verdict = acl.check(request, now, trace);
  if (verdict.isRoot || request.operation === "help") return verdict;
  if (isDenied(acl, request, now, trace)) return REFUSED;
  if (alternatePath === undefined) return verdict;
  const alternate = acl.check({ ...request, path: alternatePath }, now, trace);
  if (!verdict.allowed) return alternate;
  if (!alternate.allowed) return verdict;
  return {
    ...verdict,
    sudo: verdict.sudo || alternate.sudo,
    create: verdict.create || alternate.create,
    update: verdict.update || alternate.update,
  };
}

/**
 * True when a rule with `deny` decides about any spelling of the requested path, or about its other paths, at `now`.
 * Spellings are compared in canonical form; `Acl.check` evaluates the path as it was requested.
 */
export function isDenied(acl: Acl, request: AskedPaths, now: Ms, trace?: Trace): boolean {
  if (!acl.deniesAnything) return false;
  const { alternatePath, denialPaths = [] } = request;
  const others = [...(alternatePath === undefined ? [] : [alternatePath]), ...denialPaths];
  return [...spellingsOf(request), ...others.map((path) => ({ path, nameAt: NO_NAME }))].some((spelling) => {
    const grant = acl.denialOf(spelling, now);
    if (grant) trace?.({ path: spelling.path, grant, refusal: { kind: "deny" } });
    return grant !== null;
  });
}

/** The paths of a request: its own, and the other paths of the same resource, if any. */
type AskedPaths = RequestedResource & OtherPaths;

/** The capabilities of a caller on a path and its alternate path together, in the form of `Acl.capabilities`. */
export function capabilitiesOf(acl: Acl, asked: AskedPaths, now: Ms): string[] {
  const { path, alternatePath } = asked;
  if (isDenied(acl, asked, now)) return ["deny"];
  const own = acl.capabilities(path, now);
  if (acl.isRoot || alternatePath === undefined) return own;
  const both = [...own, ...acl.capabilities(alternatePath, now)];
  const given = [...new Set(both.filter((capability) => capability !== "deny"))].sort();
  return given.length === 0 ? ["deny"] : given;
}
