import { nearestWord } from "../local/did-you-mean.ts";

const NAME = "[^/]+";

/** Paths below a mount of an auth method: its configuration and its roles. */
const OF_MOUNTS = [
  "config",
  "config/(?:client|identity)",
  `config/(?:sts|certificate|tidy)/${NAME}`,
  `role/${NAME}`,
  `role/${NAME}/role-id`,
];

/**
 * The paths that a declaration may name: each is a setting that can be written and read, so that it can be compared, and
 * written again when its answer was lost. None answers a credential.
 */
const DECLARABLE = [
  "sys/auth/(?!.+/tune$).+",
  "sys/(?:mounts/)?auth/.+/tune",
  "sys/policies/acl/.+",
  `sys/policy/${NAME}`,
  `sys/quotas/rate-limit/${NAME}`,
  "sys/quotas/config",
  "sys/rotate/(?:keyring/)?config",
  `auth/token/roles/${NAME}`,
  `auth/(?!token/).+/(?:${OF_MOUNTS.join("|")})`,
  "identity/(?:entity|group)/name/.+",
  "identity/oidc/config",
  `identity/oidc/(?:key|role)/${NAME}`,
].map((pattern) => new RegExp(`^(?:${pattern})$`));

/** Paths whose answer is a credential or a secret. */
const ANSWERS_SECRET = [
  /^auth\/.+\/(?:login|secret-id|custom-secret-id|tag)(?:\/|$)/,
  /^auth\/token\/(?:create|renew)/,
  /^(?:cubbyhole|sys\/wrapping|sys\/generate-root|sys\/init|identity\/oidc\/token)(?:\/|-|$)/,
];

const MAX_PATH = 512;
/** What a server could read as another path, or as more than a path. */
const UNCLEAR = /[\p{Cc}\s?#%\\]|\/\/|\/$|(?:^|\/)\.\.?(?:\/|$)/u;

/** Returns why a declaration may not name this path; null when it may. */
export function pathProblem(path: string): string | null {
  if (path.length > MAX_PATH) return `path is longer than ${MAX_PATH} characters`;
  if (path === "" || UNCLEAR.test(path)) return "path is not a plain path such as sys/policies/acl/admin";
  if (ANSWERS_SECRET.some((pattern) => pattern.test(path))) {
    return "what this path answers is a credential or a secret, which no client would receive";
  }
  if (DECLARABLE.some((pattern) => pattern.test(path))) return null;
  return `this path is no setting that can be declared: mounts, their config and roles, policies, quotas, entities and groups by name, the issuer, the rotation of keys${meantPath(path)}`;
}

/** The words of the paths that can be declared. */
const WORDS = [...new Set(DECLARABLE.flatMap(({ source }) => source.match(/[a-z][a-z-]+/g) ?? []))];

/** `; did you mean PATH?` for a path of which one word is mistyped, else "". */
function meantPath(path: string): string {
  const segments = path.split("/");
  // Other words only: `roles` is a word below auth/token, but a mistake for `role` below another mount.
  const nearest = (segment: string) =>
    nearestWord(
      segment,
      WORDS.filter((word) => word !== segment),
    ) ?? segment;
  const meant = segments.map((segment, at) => segments.with(at, nearest(segment)).join("/"));
  const found = meant.find((one) => DECLARABLE.some((pattern) => pattern.test(one)));
  return found === undefined ? "" : `; did you mean ${found}?`;
}

/** True for a path at which an auth method is enabled. */
export function isMount(path: string): boolean {
  return /^sys\/auth\/(?!.+\/tune$).+$/.test(path);
}
