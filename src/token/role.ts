import type { Seconds } from "../base/clock.ts";
import type { LocationHint } from "../base/location.ts";
import { fieldSchema, type Values } from "../wire/field-schema.ts";
import { deprecated, duration, flag, integer, list, sent, text, unread } from "../wire/fields.ts";

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

/** A named configuration that constrains the creation of tokens. */
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
  readonly tokenExplicitMaxTtl: Seconds;
  readonly tokenPeriod: Seconds;
  readonly tokenNumUses: number;
  readonly tokenNoDefaultPolicy: boolean;
  readonly tokenType: RoleTokenType;
  /** Location hint for the trees of its orphans; absent: near the client that creates them. */
  readonly locationHint?: LocationHint;
  /** Fields that were last written under their deprecated names: only these are shown under them. */
  readonly writtenByOldName: readonly RenamedField[];
}

/** The fields of a role as a client sends them. Each is undefined when not sent: a write changes what it names. */
export const TOKEN_ROLE_FIELDS = fieldSchema({
  role_name: unread("string").describe("The name of the role"),
  allowed_policies: sent(list()).describe("Policies that tokens may have"),
  disallowed_policies: sent(list()).describe("Policies that tokens may not have"),
  allowed_policies_glob: sent(list()).describe("The same with `*` in the names"),
  disallowed_policies_glob: sent(list()).describe("The same with `*` in the names"),
  allowed_entity_aliases: sent(list()).describe("Aliases that tokens may be made for, with `*` at the ends"),
  orphan: sent(flag(false)).describe("True: tokens have no parent"),
  renewable: sent(flag(true)).describe("False: tokens can't be renewed"),
  path_suffix: sent(text()).describe("Ends the path under which tokens are listed"),
  token_bound_cidrs: sent(list()).describe("Networks that tokens may be used from"),
  bound_cidrs: deprecated(sent(list())).describe("Older name of `token_bound_cidrs`"),
  token_explicit_max_ttl: sent(duration()).describe("How long tokens live at most"),
  explicit_max_ttl: deprecated(sent(duration())).describe("Older name of `token_explicit_max_ttl`"),
  token_period: sent(duration()).describe("Makes tokens periodic"),
  period: deprecated(sent(duration())).describe("Older name of `token_period`"),
  token_num_uses: sent(integer()).describe("Uses of a token; 0: no limit"),
  token_no_default_policy: sent(flag(false)).describe("True: without the policy `default`"),
  token_type: sent(text()).describe("`service`, `batch`, `default-service` or `default-batch`"),
  location_hint: sent(text()).describe("Cloudflare's location hint for orphans; empty: near their maker"),
});

/** A write of a role, parsed but not validated. Durations can be negative. */
export type TokenRoleFields = Omit<Values<typeof TOKEN_ROLE_FIELDS>, "role_name">;
