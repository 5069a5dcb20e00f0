import {
  type AccessRequest,
  type Acl,
  isListing,
  NEEDED,
  type Operation,
  REFUSED,
  type Trace,
  type Verdict,
} from "./acl.ts";
import { otherSpellings } from "./spellings.ts";

/**
 * Evaluates an ACL for a request at `now` (ms): the capability of its operation, the limits of the deciding rule, and
 * on a protected path `sudo` as well. With an alternate path, the request is granted what is granted on either path. A
 * `deny` on any spelling of the path refuses. `trace` receives the steps, of which `decisiveStep` selects one.
 */
export function evaluateAcl(acl: Acl, request: AccessRequest, now: number, trace?: Trace): Verdict {
  const { alternatePath } = request;
  const verdict = evaluatePath(acl, request, now, trace);
  if (verdict.isRoot || request.operation === "help") return verdict;
  if (isDenied(acl, request, now, trace)) return REFUSED;
  if (alternatePath === undefined) return verdict;
  const alternate = evaluatePath(acl, { ...request, path: alternatePath }, now, trace);
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
  { path, alternatePath, data = {} }: Pick<AccessRequest, "path" | "data"> & { alternatePath?: string | undefined },
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

function evaluatePath(acl: Acl, request: AccessRequest, now: number, trace?: Trace): Verdict {
  const { operation, path } = request;
  const verdict = acl.check(request, now, trace);
  if (!verdict.allowed || verdict.sudo || !requiresSudo(operation, path)) return verdict;
  const grant = acl.find(path, isListing(operation), now);
  trace?.({ path, grant, refusal: { kind: "sudo", needed: NEEDED[operation] } });
  return REFUSED;
}

/** Paths that need the `sudo` capability in addition to that of the operation. A trailing `*` matches any text. */
const PROTECTED_PATHS = [
  "auth/token/accessors*",
  "sys/auth/*",
  "sys/audit",
  "sys/audit/*",
  "sys/backup/*",
  "sys/explain/access",
  "sys/remount",
  "sys/policies/usage/*",
  "sys/tokens",
  "sys/tokens/*",
  "sys/raw",
  "sys/raw/*",
  "sys/rotate",
  "sys/rotate/keyring",
  "sys/rotate/root",
  "sys/config/cors",
  "sys/config/auditing/*",
  "sys/config/ui/headers/*",
  "sys/plugins/catalog/*",
  "sys/leases",
  "sys/leases/lookup/*",
  "sys/leases/revocations",
  "sys/leases/revoke-prefix/*",
  "sys/leases/signing-key",
  "sys/leases/revoke-force/*",
  "sys/revoke-prefix/*",
  "sys/revoke-force/*",
  "sys/internal/inspect/*",
  "sys/seal",
  "sys/step-down",
];

const EXACT = new Set(PROTECTED_PATHS.filter((path) => !path.endsWith("*")));
const PREFIXES = PROTECTED_PATHS.filter((path) => path.endsWith("*")).map((path) => path.slice(0, -1));

/**
 * True when `path` (without the base path `/v1/`) is one of the paths that only a caller with `sudo` may use. The path
 * of a listing of `a` is `a/`, so its trailing slash is ignored for exact paths. Help never needs `sudo`.
 */
export function requiresSudo(operation: Operation, path: string): boolean {
  if (operation === "help") return false;
  const plain = path.replace(/^\/+/, "");
  const listed = isListing(operation) ? plain.replace(/\/$/, "") : plain;
  return EXACT.has(listed) || PREFIXES.some((prefix) => plain.startsWith(prefix));
}
