import { readLocationHint } from "../base/location.ts";
import { err, ok, type Result, refuse } from "../base/result.ts";
import type { QuotaPlace } from "../quota/quota.ts";
import {
  issuerOf,
  type Mount,
  type MountConfig,
  type MountMove,
  type MountTokenType,
  SYSTEM_TTL_SECONDS,
} from "./mount.ts";

/** Maximum number of mounts of an installation: every isolate keeps all of them. */
export const MAX_MOUNTS = 256;

const MAX_PATH = 128;
const MAX_SEGMENTS = 8;
/** Excludes characters that have a meaning in policies, in URLs or in the folders of the list of leases. */
const SEGMENT = /^[A-Za-z0-9_@~-][A-Za-z0-9_.@~-]*$/;
const MAX_DESCRIPTION = 1024;
const MAX_LIST = 64;
const MAX_LIST_ITEM = 128;

const TOKEN_TYPES: readonly MountTokenType[] = ["default-service", "default-batch", "service", "batch"];
const VISIBILITIES: readonly MountConfig["listingVisibility"][] = ["", "hidden", "unauth"];

/** A change of a mount's settings; null keeps a value. TTLs in seconds, 0 for the system's default or maximum. */
export interface MountChange {
  readonly description: string | null;
  readonly defaultLeaseTtl: number | null;
  readonly maxLeaseTtl: number | null;
  readonly tokenType: string | null;
  readonly listingVisibility: string | null;
  readonly passthroughRequestHeaders: readonly string[] | null;
  readonly allowedResponseHeaders: readonly string[] | null;
  readonly auditNonHmacRequestKeys: readonly string[] | null;
  readonly auditNonHmacResponseKeys: readonly string[] | null;
  /** "" for none. */
  readonly locationHint: string | null;
}

/** The path of a mount as it is stored: without leading slashes, with one trailing slash. */
export function normalizeMountPath(path: string): string {
  return `${path.trim().replace(/^\/+|\/+$/g, "")}/`;
}

/**
 * Reason why no mount may be at `path` (normalised), or null. No mount may lie below another one: so every path has one
 * owner, and revoking by a mount's prefix never reaches another mount's tokens.
 *
 * @param taken paths of the other mounts.
 */
export function mountPathProblem(path: string, taken: readonly string[]): string | null {
  const segments = path.slice(0, -1).split("/");
  if (path.length > MAX_PATH || segments.length > MAX_SEGMENTS) return "the mount path is too long";
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    return "a mount path consists of letters, digits and any of _ . @ ~ - in segments that do not begin with a dot";
  }
  // `<mount>/tune` is the path of a mount's settings.
  if (segments.at(-1) === "tune") return 'the last segment of a mount path can\'t be "tune"';
  const conflict = taken.find((other) => path.startsWith(other) || other.startsWith(path));
  return conflict === undefined ? null : `path is already in use at ${conflict}`;
}

/** Reason why no mount may be added at `path` (normalised) to the mounts `existing`, or null. */
export function newMountProblem(path: string, existing: readonly Mount[]): string | null {
  const taken = existing.map((mount) => mount.path);
  const problem = mountPathProblem(path, taken);
  if (problem) return problem;
  return existing.length >= MAX_MOUNTS ? `there can be at most ${MAX_MOUNTS} auth mounts` : null;
}

/** Reason why no mount of this type can be made, or null. `types`: known methods. Messages: reference, `sys/auth`. */
export function mountTypeProblem(type: string, types: readonly string[]): string | null {
  if (type === "") return "backend type must be specified as a string";
  if (type === "token") return "token credential backend cannot be instantiated";
  return types.includes(type) ? null : `unknown auth method; the type must be one of ${types.join(", ")}`;
}

/**
 * The configuration of a new mount.
 *
 * @returns the configuration, or the message that refuses it.
 */
export function configureMount(base: MountConfig, change: MountChange): Result<MountConfig, string> {
  const config = apply(base, change);
  if (!config.ok) return config;
  const { defaultLeaseTtl, maxLeaseTtl } = config.value;
  if (maxLeaseTtl > 0 && defaultLeaseTtl > maxLeaseTtl) {
    return err("given default lease TTL greater than given max lease TTL");
  }
  if (maxLeaseTtl === 0 && defaultLeaseTtl > SYSTEM_TTL_SECONDS) {
    return err(`given default lease TTL greater than system max lease TTL of ${SYSTEM_TTL_SECONDS}`);
  }
  return config;
}

/**
 * `mount` with a change of its settings.
 *
 * @returns the mount, or the message that refuses the change.
 */
export function tuneMount(mount: Mount, change: MountChange): Result<Mount, string> {
  if (mount.type === "token" && change.tokenType !== null) {
    return err("'token_type' cannot be set for 'token' or 'ns_token' auth mounts");
  }
  const config = apply(mount.config, change);
  if (!config.ok) return config;
  const { defaultLeaseTtl, maxLeaseTtl } = config.value;
  if (maxLeaseTtl > 0 && defaultLeaseTtl > maxLeaseTtl) {
    return err(
      `backend max lease TTL of ${maxLeaseTtl} would be less than backend default lease TTL of ${defaultLeaseTtl}`,
    );
  }
  return ok({ ...mount, description: change.description ?? mount.description, config: config.value });
}

function apply(base: MountConfig, change: MountChange): Result<MountConfig, string> {
  const tokenType = TOKEN_TYPES.find((type) => type === (change.tokenType ?? base.tokenType));
  if (tokenType === undefined) return err("invalid value for 'token_type'");
  const listingVisibility = VISIBILITIES.find((one) => one === (change.listingVisibility ?? base.listingVisibility));
  if (listingVisibility === undefined) return err("invalid listing_visibility");
  if ((change.description ?? "").length > MAX_DESCRIPTION) return err("the description is too long");
  const lists = {
    passthroughRequestHeaders: change.passthroughRequestHeaders ?? base.passthroughRequestHeaders,
    allowedResponseHeaders: change.allowedResponseHeaders ?? base.allowedResponseHeaders,
    auditNonHmacRequestKeys: change.auditNonHmacRequestKeys ?? base.auditNonHmacRequestKeys,
    auditNonHmacResponseKeys: change.auditNonHmacResponseKeys ?? base.auditNonHmacResponseKeys,
  };
  for (const list of Object.values(lists)) {
    if (list.length > MAX_LIST || list.some((item) => item.length > MAX_LIST_ITEM)) {
      return err(`a list of headers or keys holds at most ${MAX_LIST} names of ${MAX_LIST_ITEM} characters`);
    }
  }
  const hint = change.locationHint === null ? ok(base.locationHint ?? null) : readLocationHint(change.locationHint);
  if (!hint.ok) return hint;
  return ok({
    defaultLeaseTtl: change.defaultLeaseTtl ?? base.defaultLeaseTtl,
    maxLeaseTtl: change.maxLeaseTtl ?? base.maxLeaseTtl,
    tokenType,
    listingVisibility,
    ...lists,
    ...(hint.value && { locationHint: hint.value }),
  });
}

/** The paths that quotas can apply to. Logins of every method except the token method name a role. */
export function placesOfQuotas(mounts: readonly Mount[]): QuotaPlace[] {
  const fixed = ["sys/", "identity/", "cubbyhole/"].map((path) => ({ path, hasRoles: false }));
  return [...fixed, ...mounts.map(({ path, type }) => ({ path: `auth/${path}`, hasRoles: type !== "token" }))];
}

/**
 * Moves the mount at `move.from` to `move.to`. Tokens that it issues there have another issuer id than those issued at
 * the old path.
 *
 * @param mounts all mounts of the installation.
 * @param issuer issuer id of the mount at the old path (`issuerOf`). A mount with another id, which took its place
 *   meanwhile, is not moved.
 * @returns the mount to store in place of the one at `move.from`, or why it can't move.
 */
export function moveMount(mounts: readonly Mount[], issuer: string, move: MountMove): Result<Mount> {
  const mount = mounts.find(({ path }) => path === move.from);
  if (!mount || issuerOf(mount) !== issuer) return refuse(`no matching mount at "auth/${move.from}"`);
  if (mount.type === "token") return refuse(`cannot remount "auth/${move.from}"`);
  const problem = mountPathProblem(
    move.to,
    mounts.map(({ path }) => path),
  );
  if (problem) return refuse(problem);
  return ok({ ...mount, path: move.to, issuer: move.id, move });
}
