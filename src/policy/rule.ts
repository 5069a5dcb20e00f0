/** What a rule can grant, or `deny`, which erases the rest. Alphabetical, the order of every answer. */
export const CAPABILITIES = ["create", "delete", "deny", "list", "patch", "read", "scan", "sudo", "update"] as const;

export type Capability = (typeof CAPABILITIES)[number];

/**
 * A value of a parameter: any JSON value. Lists and objects are only `object` here, since a recursive type is beyond what
 * the types of RPC can follow.
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

/** What one `path` block of a policy says. Plain data, so that it can be stored as JSON and sent over RPC. */
export interface PathRule {
  /** As written, without one leading `/`; may hold templates, whole segments `+` and a last `*`. */
  readonly path: string;
  /** Sorted, without repeats; `["deny"]` alone when the block denies. Empty is legal: the block matches and grants nothing. */
  readonly capabilities: readonly Capability[];
  /** ms since 1970: after this moment the block counts as absent. */
  readonly expiresAt?: number;
  /** Seconds, above 0: an answer must be asked for wrapped, for at least this long. */
  readonly minWrappingTtlSeconds?: number;
  /** Seconds, above 0: an answer must be asked for wrapped, for at most this long. */
  readonly maxWrappingTtlSeconds?: number;
  readonly allowedParameters?: readonly ParameterRule[];
  readonly deniedParameters?: readonly ParameterRule[];
  /** Lower case. */
  readonly requiredParameters?: readonly string[];
  /** Above 0: the largest page of a list. */
  readonly paginationLimit?: number;
}

/** A policy as the compiler takes it. */
export interface NamedPolicy {
  /** Normalised. */
  readonly name: string;
  readonly rules: readonly PathRule[];
  /** Values that templates insert may hold `/`. Off unless set: such a value reaches other paths than the author meant. */
  readonly allowSlashes?: boolean;
  /** Values that templates insert may hold `*` and `+`. Off unless set, for the same reason. */
  readonly allowWildcards?: boolean;
}
