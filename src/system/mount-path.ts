/** Maximum length of the path of a mount, with its trailing slash. */
export const MAX_MOUNT_PATH = 128;
const MAX_SEGMENTS = 8;
/** Excludes characters that have a meaning in policies, in URLs or in the folders of the list of leases. */
const SEGMENT = /^[A-Za-z0-9_@~-][A-Za-z0-9_.@~-]*$/;

/** The path of a mount as it is stored: without leading slashes, with one trailing slash. */
export function normalizeMountPath(path: string): string {
  return `${path.trim().replace(/^\/+|\/+$/g, "")}/`;
}

/**
 * Reason why no mount may be at `path` (normalised) beside those at `taken`, or null. No mount may lie below another
 * one: so every path has one owner, and revoking by a mount's prefix never reaches another mount's tokens.
 */
export function mountPathProblem(path: string, taken: readonly string[]): string | null {
  const segments = path.slice(0, -1).split("/");
  if (path.length > MAX_MOUNT_PATH || segments.length > MAX_SEGMENTS) return "the mount path is too long";
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    return "a mount path consists of letters, digits and any of _ . @ ~ - in segments that do not begin with a dot";
  }
  // `<mount>/tune` is the path of a mount's settings.
  if (segments.at(-1) === "tune") return 'the last segment of a mount path can\'t be "tune"';
  const conflict = taken.find((other) => path.startsWith(other) || other.startsWith(path));
  return conflict === undefined ? null : `path is already in use at ${conflict}`;
}
