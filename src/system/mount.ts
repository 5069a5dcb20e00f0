import type { LocationHint } from "../base/location.ts";
import { randomBytes, toHex } from "../crypto/bytes.ts";

/** Default and maximum lifetime of tokens when nothing else is set: 768 h, in seconds. */
export const SYSTEM_TTL_SECONDS = 768 * 3600;

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
  /** Distinguishes the tokens that it issues at its current path from those of earlier paths; see `issuerOf`. */
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
export function issuerOf(mount: Pick<Mount, "issuer" | "uuid">): string {
  return mount.issuer ?? mount.uuid;
}

/** The setting `token_type` of a mount: the type of the tokens that its logins issue. */
export type MountTokenType = "default-service" | "default-batch" | "service" | "batch";

/** The tunable settings of a mount. */
export interface MountConfig {
  /** Seconds; 0: the system default. */
  readonly defaultLeaseTtl: number;
  /** Seconds; 0: the system maximum. */
  readonly maxLeaseTtl: number;
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

/** Default and maximum TTL of a mount's tokens in seconds: the system's where the mount sets none. */
export interface MountTtl {
  readonly defaultSeconds: number;
  readonly maxSeconds: number;
}

/** The effective TTLs of `mount`. */
export function mountTtl(mount: Mount | undefined): MountTtl {
  const maxSeconds = mount?.config.maxLeaseTtl || SYSTEM_TTL_SECONDS;
  return { defaultSeconds: Math.min(mount?.config.defaultLeaseTtl || SYSTEM_TTL_SECONDS, maxSeconds), maxSeconds };
}

/** Limits the TTLs of a mount to a smaller maximum, such as that of a role. `maxTtl` in seconds; 0: no maximum. */
export function narrowTtl(ttl: MountTtl, maxTtl: number): MountTtl {
  if (maxTtl === 0 || maxTtl >= ttl.maxSeconds) return ttl;
  return { defaultSeconds: Math.min(ttl.defaultSeconds, maxTtl), maxSeconds: maxTtl };
}

/** A new mount with its own accessor. */
export function newMount(fields: Pick<Mount, "path" | "type" | "description" | "config" | "local">): Mount {
  return {
    ...fields,
    accessor: `auth_${fields.type}_${toHex(randomBytes(4))}`,
    uuid: crypto.randomUUID(),
  };
}

/** Makes the mount of the token method, which every installation has at `auth/token/`. */
export function tokenMount(): Mount {
  return newMount({
    path: "token/",
    type: "token",
    description: "token based credentials",
    config: DEFAULT_MOUNT_CONFIG,
  });
}
