import { type AccessRequest, type Acl, REFUSED, type Trace, type Verdict } from "./acl.ts";
import { otherSpellings } from "./spellings.ts";

/**
 * Evaluates an ACL for all paths of a request at `now` (ms), each by `Acl.check`. With an alternate path, the request
 * is granted what is granted on either path. A `deny` on any spelling of the path refuses. `trace` receives the steps,
 * of which `decisiveStep` selects one.
 */
export function evaluateAcl(acl: Acl, request: AccessRequest, now: number, trace?: Trace): Verdict {
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

/** True when a rule with `deny` decides about the path, its alternate or another spelling of the path at `now` (ms). */
export function isDenied(
  acl: Acl,
  { path, alternatePath, data = {} }: Pick<AccessRequest, "path" | "alternatePath" | "data">,
  now: number,
  trace?: Trace,
): boolean {
  if (!acl.deniesAnything) return false;
  const paths = [path, ...(alternatePath === undefined ? [] : [alternatePath]), ...otherSpellings(path, data)];
  return paths.some((each) => {
    const grant = acl.find(each, true, now);
    if (!grant?.capabilities.has("deny")) return false;
    trace?.({ path: each, grant, refusal: { kind: "deny" } });
    return true;
  });
}

/** The capabilities of a caller on a path and its alternate path together, in the form of `Acl.capabilities`. */
export function capabilitiesOf(acl: Acl, path: string, alternatePath: string | undefined, now: number): string[] {
  if (isDenied(acl, { path, alternatePath }, now)) return ["deny"];
  const own = acl.capabilities(path, now);
  if (acl.isRoot || alternatePath === undefined) return own;
  const both = [...own, ...acl.capabilities(alternatePath, now)];
  const given = [...new Set(both.filter((capability) => capability !== "deny"))].sort();
  return given.length === 0 ? ["deny"] : given;
}
