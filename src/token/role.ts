import type { LocationHint } from "../base/location.ts";

/** Values of a role's token type. */
export const ROLE_TOKEN_TYPES = ["service", "batch", "default", "default-service", "default-batch"] as const;

/**
 * `service` and `batch` override the client's choice. The others are the type to use when the client requests none.
 * `default` is the type that the mount is tuned to, which for the token method is always service.
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
  /** Location hint for the trees of its orphans; absent: near the client that creates them. */
  readonly locationHint?: LocationHint;
  /** Fields that were last written under their deprecated names: only these are shown under them. */
  readonly writtenByOldName: readonly RenamedField[];
}
