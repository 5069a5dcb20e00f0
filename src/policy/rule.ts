import type { Ms, Seconds } from "../base/clock.ts";

/** The capabilities that a rule can have. `deny` overrides the others. Alphabetical, as in every answer. */
export const CAPABILITIES = ["create", "delete", "deny", "list", "patch", "read", "scan", "sudo", "update"] as const;

export type Capability = (typeof CAPABILITIES)[number];

/**
 * A value of a parameter: any JSON value. Lists and objects are only `object` here, since a recursive type is beyond
 * what the types of RPC can follow.
 */
export type ParameterValue = null | boolean | number | string | object;

/**
 * One name of `allowed_parameters` or `denied_parameters`. A list of these and not an object, since a name like
 * `__proto__` must be an ordinary name.
 */
export interface ParameterRule {
  /** Lower case; `*` stands for every name. */
  readonly name: string;
  /** Empty: any value. */
  readonly values: readonly ParameterValue[];
}

/** One `path` block of a policy. Plain data, so that it can be stored as JSON and sent over RPC. */
export interface PathRule {
  /** As written, without one leading `/`. May contain templates, whole segments `+` and a trailing `*`. */
  readonly path: string;
  /** Sorted and unique; only `["deny"]` when the block denies. May be empty: the block matches and grants nothing. */
  readonly capabilities: readonly Capability[];
  /** After this moment the block counts as absent. */
  readonly expiresAt?: Ms;
  /** Above 0: the request must ask for response wrapping with at least this TTL. */
  readonly minWrappingTtlSeconds?: Seconds;
  /** Above 0: the request must ask for response wrapping with at most this TTL. */
  readonly maxWrappingTtlSeconds?: Seconds;
  readonly allowedParameters?: readonly ParameterRule[];
  readonly deniedParameters?: readonly ParameterRule[];
  /** Lower case. */
  readonly requiredParameters?: readonly string[];
  /** Above 0: maximum number of entries of a page of a list. */
  readonly paginationLimit?: number;
}

/** A policy as `compileAcl` takes it. */
export interface NamedPolicy {
  /** Normalised. */
  readonly name: string;
  readonly rules: readonly PathRule[];
  /** True when values inserted by templates may contain `/`. Off by default: such a value reaches unintended paths. */
  readonly allowSlashes?: boolean;
  /** True when values inserted by templates may contain `*` and `+`. Off by default, for the same reason. */
  readonly allowWildcards?: boolean;
}
