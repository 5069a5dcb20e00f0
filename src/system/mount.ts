import type { LocationHint } from "../base/location.ts";
import { randomBytes, toHex } from "../crypto/bytes.ts";

/** Default and maximum lifetime of tokens when nothing else is set: 768 h, in seconds. */
export const SYSTEM_TTL_SECONDS = 768 * 3600;

/** An auth method at its place. */
export interface Mount {
  /** Below `auth/`, with a slash at the end, for example `token/`. */
  readonly path: string;
  readonly type: string;
  readonly description: string;
  /** Names the mount in entity aliases; never changes. */
  readonly accessor: string;
  readonly uuid: string;
  readonly config: MountConfig;
  /** True when it was enabled so. It has no effect where nothing is replicated; clients compare it. */
  readonly local?: boolean;
  /** Distinguishes the tokens that it issued at one path from those of another; see `issuerOf`. */
  readonly issuer?: string;
  /**
   * Number of the newest state of what its method keeps for the whole mount, as the method announced it: isolates with a
   * copy of that state need not ask. Absent before the first.
   */
  readonly methodState?: number;
  /** Its last move to another place, if it ever moved. */
  readonly move?: MountMove;
}

/** The move of a mount to another place. */
export interface MountMove {
  readonly id: string;
  /** Paths as of a mount. */
  readonly from: string;
  readonly to: string;
}

/** Under which id a mount issues tokens: its uuid at its first place, another id after every move. */
export function issuerOf(mount: Pick<Mount, "issuer" | "uuid">): string {
  return mount.issuer ?? mount.uuid;
}

/** What a mount does about the kind of token that its logins give. */
export type MountTokenType = "default-service" | "default-batch" | "service" | "batch";

/** What can be tuned on a mount. */
export interface MountConfig {
  /** Seconds; 0 means the system's. */
  readonly defaultLeaseTtl: number;
  /** Seconds; 0 means the system's. */
  readonly maxLeaseTtl: number;
  readonly tokenType: MountTokenType;
  readonly listingVisibility: "" | "hidden" | "unauth";
  /** Names of headers; empty means not set, as in the lists below. Kept for clients that manage them. */
  readonly passthroughRequestHeaders: readonly string[];
  readonly allowedResponseHeaders: readonly string[];
  readonly auditNonHmacRequestKeys: readonly string[];
  readonly auditNonHmacResponseKeys: readonly string[];
  /** Where the trees of its tokens shall be; absent: near the client that logs in. */
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

/** Lifetimes that a mount gives to its tokens, in seconds, with the system's where it sets none. */
export interface MountTtl {
  readonly defaultSeconds: number;
  readonly maxSeconds: number;
}

/** The effective lifetimes of `mount`. */
export function mountTtl(mount: Mount | undefined): MountTtl {
  const maxSeconds = mount?.config.maxLeaseTtl || SYSTEM_TTL_SECONDS;
  return { defaultSeconds: Math.min(mount?.config.defaultLeaseTtl || SYSTEM_TTL_SECONDS, maxSeconds), maxSeconds };
}

/** The lifetimes of a mount below a maximum of something on it, such as a role. `maxTtl` in seconds; 0: no maximum. */
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

/** The token method, which every installation has at `auth/token/`. */
export function tokenMount(): Mount {
  return newMount({
    path: "token/",
    type: "token",
    description: "token based credentials",
    config: DEFAULT_MOUNT_CONFIG,
  });
}
