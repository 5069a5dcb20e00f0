const MAX_PATH = 512;
const MAX_SEGMENTS = 16;
/** Excludes white space, the wildcards of policies and the special characters of URLs. */
const SEGMENT = /^[A-Za-z0-9_.:@~-]+$/;
/** First segments that no engine may use: Grove itself makes the leases below them. */
const OWN_PATHS = new Set(["auth", "sys", "cubbyhole", "identity"]);

/** Returns why no lease may be registered at `path`, or null. */
export function leasePathProblem(path: string): string | null {
  const segments = path.split("/");
  if (path.length > MAX_PATH || segments.length > MAX_SEGMENTS) return "the path is too long";
  if (segments.some((segment) => segment === "." || segment === "..")) return "path cannot contain parent references";
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    return "path must consist of letters, digits and any of _ . : @ ~ - in segments with one slash between";
  }
  return OWN_PATHS.has(segments[0] ?? "") ? "path must begin with the name of the engine" : null;
}
