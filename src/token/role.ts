import type { LocationHint } from "../base/location.ts";

/** What a role can say about the type of its tokens. */
export const ROLE_TOKEN_TYPES = ["service", "batch", "default", "default-service", "default-batch"] as const;

/**
 * `service` and `batch` decide alone; the others give the type to use when the client asks for none. `default` is the
 * mount's tuned type, which for the token method is always service.
 */
export type RoleTokenType = (typeof ROLE_TOKEN_TYPES)[number];

/** Fields that have a deprecated name and one that begins with `token_`. */
export const RENAMED_FIELDS = ["period", "bound_cidrs", "explicit_max_ttl"] as const;
export type RenamedField = (typeof RENAMED_FIELDS)[number];

/** A named configuration that constrains the creation of tokens. Durations in seconds. */
export interface TokenRole {
  readonly name: string;
  readonly allowedPolicies: readonly string[];
  readonly disallowedPolicies: readonly string[];
  readonly allowedPoliciesGlob: readonly string[];
  readonly disallowedPoliciesGlob: readonly string[];
  /** Lower case. */
  readonly allowedEntityAliases: readonly string[];
  readonly orphan: boolean;
  readonly renewable: boolean;
  readonly pathSuffix: string;
  readonly tokenBoundCidrs: readonly string[];
  readonly tokenExplicitMaxTtl: number;
  readonly tokenPeriod: number;
  readonly tokenNumUses: number;
  readonly tokenNoDefaultPolicy: boolean;
  readonly tokenType: RoleTokenType;
  /** Where the trees of its orphans shall be; absent: near the client that asks for them. */
  readonly locationHint?: LocationHint;
  /** Those whose value was last written by its deprecated name: only these are shown under it. */
  readonly writtenByOldName: readonly RenamedField[];
}
