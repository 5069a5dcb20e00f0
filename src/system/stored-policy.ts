import type { Ms } from "../base/clock.ts";

export interface PolicySettings {
  /** null: never. After this moment the policy counts as absent. */
  readonly expiresAt: Ms | null;
  /** True when every write must send `cas`, the version that the writer has seen. */
  readonly casRequired: boolean;
  /** True when values inserted by templates may contain `/`. */
  readonly allowSlashes: boolean;
  /** True when values inserted by templates may contain `*` and `+`. */
  readonly allowWildcards: boolean;
}

/** A policy as the operator wrote it. */
export interface StoredPolicy extends PolicySettings {
  readonly name: string;
  readonly text: string;
  /** Number of writes of this name, from 1. */
  readonly version: number;
  readonly modifiedAt: Ms;
}
