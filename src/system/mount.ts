import type { Seconds } from "../base/clock.ts";
import { type LocationHint, readLocationHint } from "../base/location.ts";
import { err, ok, type Result, refuse } from "../base/result.ts";
import { randomBytes, toHex } from "../crypto/bytes.ts";
import type { QuotaPlace } from "../quota/quota.ts";
import { mountPathProblem } from "./mount-path.ts";

/** Default and maximum lifetime of tokens when nothing else is set: 768 h. */
export const SYSTEM_TTL_SECONDS: Seconds = 768 * 3600;

/** An auth method that is enabled at a path. */
export interface Mount {
  /** Relative to `auth/`, with a trailing slash, for example `token/`. */
  readonly path: string;
  readonly type: string;
  readonly description: string;
  /** Names the mount in entity aliases; never changes. */
  readonly accessor: string;
  readonly uuid: string;
  readonly config: MountConfig;
  /** The flag `local` with which it was enabled. It has no effect, as nothing is replicated; clients compare it. */
  readonly local?: boolean;
  /** Distinguishes the tokens that it issues at its current path from those of earlier paths; see `mountIssuerOf`. */
  readonly issuer?: string;
  /**
   * Number of the newest state of the data that its method stores for the whole mount, as the method announced it. An
   * isolate with a copy of that state need not read it again. Absent before the first announcement.
   */
  readonly methodState?: number;
  /** Its last move to another path; absent when it never moved. */
  readonly move?: MountMove;
}

/** The move of a mount to another path. */
export interface MountMove {
  readonly id: string;
  /** `from` and `to` have the form of `Mount.path`. */
  readonly from: string;
  readonly to: string;
}

/** The issuer id of a mount's tokens: its uuid at its first path, the id of the move after every move. */
export function mountIssuerOf(mount: Pick<Mount, "issuer" | "uuid">): string {
  return mount.issuer ?? mount.uuid;
}

/** The setting `token_type` of a mount: the type of the tokens that its logins issue. */
export type MountTokenType = "default-service" | "default-batch" | "service" | "batch";

export interface MountConfig {
  /** 0: the system default. */
  readonly defaultLeaseTtl: Seconds;
  /** 0: the system maximum. */
  readonly maxLeaseTtl: Seconds;
  readonly tokenType: MountTokenType;
  readonly listingVisibility: "" | "hidden" | "unauth";
  /** Names of headers; empty: not set. This list and the three below have no effect: they are stored for clients. */
  readonly passthroughRequestHeaders: readonly string[];
  readonly allowedResponseHeaders: readonly string[];
  readonly auditNonHmacRequestKeys: readonly string[];
  readonly auditNonHmacResponseKeys: readonly string[];
  /** Location hint of the trees of its tokens; absent: near the client that logs in. */
  readonly locationHint?: LocationHint;
}

/** The configuration of a mount that was never tuned. */
export const DEFAULT_MOUNT_CONFIG: MountConfig = {
  defaultLeaseTtl: 0,
  maxLeaseTtl: 0,
  tokenType: "default-service",
  listingVisibility: "",
  passthroughRequestHeaders: [],
  allowedResponseHeaders: [],
  auditNonHmacRequestKeys: [],
  auditNonHmacResponseKeys: [],
};

/** Default and maximum TTL of a mount's tokens: the system's where the mount sets none. */
export interface MountTtl {
  readonly defaultSeconds: Seconds;
  readonly maxSeconds: Seconds;
}

/** The TTLs (s) of tokens of a mount; without a mount those of the system. */
export function mountTtl(mount: Mount | undefined): MountTtl {
  const maxSeconds = mount?.config.maxLeaseTtl || SYSTEM_TTL_SECONDS;
  return { defaultSeconds: Math.min(mount?.config.defaultLeaseTtl || SYSTEM_TTL_SECONDS, maxSeconds), maxSeconds };
}

/** Limits the TTLs of a mount to a smaller maximum, such as that of a role. `maxTtl` 0: no maximum. */
export function narrowTtl(ttl: MountTtl, maxTtl: Seconds): MountTtl {
  if (maxTtl === 0 || maxTtl >= ttl.maxSeconds) return ttl;
  return { defaultSeconds: Math.min(ttl.defaultSeconds, maxTtl), maxSeconds: maxTtl };
}

/** A mount with a new accessor and uuid. Stores nothing. */
export function newMount(fields: Pick<Mount, "path" | "type" | "description" | "config" | "local">): Mount {
  return { ...fields, accessor: `auth_${fields.type}_${toHex(randomBytes(4))}`, uuid: crypto.randomUUID() };
}

/** Maximum number of mounts of an installation: every isolate keeps all of them. */
export const MAX_MOUNTS = 256;

const MAX_DESCRIPTION = 1024;
const MAX_LIST = 64;
const MAX_LIST_ITEM = 128;

const TOKEN_TYPES: readonly MountTokenType[] = ["default-service", "default-batch", "service", "batch"];
const VISIBILITIES: readonly MountConfig["listingVisibility"][] = ["", "hidden", "unauth"];

/**
 * A change of a mount's settings; null keeps a value. Texts are as the client sent them. TTLs are 0 for the
 * system's default or maximum.
 */
export interface MountChange {
  readonly description: string | null;
  readonly defaultLeaseTtl: Seconds | null;
  readonly maxLeaseTtl: Seconds | null;
  readonly tokenType: string | null;
  readonly listingVisibility: string | null;
  readonly passthroughRequestHeaders: readonly string[] | null;
  readonly allowedResponseHeaders: readonly string[] | null;
  readonly auditNonHmacRequestKeys: readonly string[] | null;
  readonly auditNonHmacResponseKeys: readonly string[] | null;
  /** "" for none. */
  readonly locationHint: string | null;
}

/** Reason why no mount may be added at `path` (normalised) to the mounts `existing`, or null. */
export function newMountProblem(path: string, existing: readonly Mount[]): string | null {
  const taken = existing.map((mount) => mount.path);
  const full = existing.length >= MAX_MOUNTS ? `there can be at most ${MAX_MOUNTS} auth mounts` : null;
  return mountPathProblem(path, taken) ?? full;
}

/** Reason why no mount of this type can be made, or null. `types`: known methods. Messages: reference, `sys/auth`. */
export function mountTypeProblem(type: string, types: readonly string[]): string | null {
  if (type === "") return "backend type must be specified as a string";
  if (type === "token") return "token credential backend cannot be instantiated";
  return types.includes(type) ? null : `unknown auth method; the type must be one of ${types.join(", ")}`;
}

/** The configuration of a new mount, or the message that refuses it. */
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

/** `mount` with a change of its settings, or the message that refuses it. */
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

/** Checks what does not depend on stored data in a change of a mount's settings. Null: no problem. */
export function mountChangeProblem(change: MountChange): string | null {
  const applied = apply(DEFAULT_MOUNT_CONFIG, change);
  return applied.ok ? null : applied.error;
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
 * The mount to store in place of the one at `move.from`, or why it can't move; see `MoveRequest.issuer`. The tokens
 * that it issues at `move.to` have another issuer id.
 */
export function moveMount(mounts: readonly Mount[], issuer: string, move: MountMove): Result<Mount> {
  const mount = mounts.find(({ path }) => path === move.from);
  if (!mount || mountIssuerOf(mount) !== issuer) return refuse(`no matching mount at "auth/${move.from}"`);
  if (mount.type === "token") return refuse(`cannot remount "auth/${move.from}"`);
  const taken = mounts.map(({ path }) => path);
  const problem = mountPathProblem(move.to, taken);
  return problem ? refuse(problem) : ok({ ...mount, path: move.to, issuer: move.id, move });
}
