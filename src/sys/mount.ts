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
}

/** What can be tuned on a mount. */
export interface MountConfig {
  /** Seconds; 0 means the system's. */
  readonly defaultLeaseTtl: number;
  /** Seconds; 0 means the system's. */
  readonly maxLeaseTtl: number;
  readonly tokenType: "default-service" | "default-batch" | "service" | "batch";
  readonly listingVisibility: "" | "hidden" | "unauth";
}

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

/** The token method, which every installation has at `auth/token/`. */
export function tokenMount(): Mount {
  return {
    path: "token/",
    type: "token",
    description: "token based credentials",
    accessor: `auth_token_${toHex(randomBytes(4))}`,
    uuid: crypto.randomUUID(),
    config: { defaultLeaseTtl: 0, maxLeaseTtl: 0, tokenType: "default-service", listingVisibility: "" },
  };
}
