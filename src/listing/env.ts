import type { TokenEnv } from "../token/env.ts";
import type { AccessorShard } from "./accessor-shard.ts";
import type { TokenRevocations } from "./inventory/revocations.ts";

/** The bindings that the lists and the inventory use. */
export interface ListingEnv extends TokenEnv {
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly TOKEN_REVOCATIONS: DurableObjectNamespace<TokenRevocations>;
  /** How long the lists keep what is known of a token that has ended, in days; 0: not at all. */
  readonly TOMBSTONE_DAYS?: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 3650;

/** For how long (ms) what is known of a token is kept after its end. */
export function keepEndedMs({ TOMBSTONE_DAYS: days }: Pick<ListingEnv, "TOMBSTONE_DAYS">): number {
  const set = days === undefined || days === "" ? DEFAULT_DAYS : Number(days);
  return DAY_MS * (set >= 0 && set <= MAX_DAYS ? set : DEFAULT_DAYS);
}
