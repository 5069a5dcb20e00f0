import type { Ms } from "../base/clock.ts";
import type { TokenEnv } from "../token/env.ts";
import type { AccessorShard } from "./accessor-shard.ts";
import type { TokenRevocations } from "./inventory/revocations.ts";

export interface ListingEnv extends TokenEnv {
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly TOKEN_REVOCATIONS: DurableObjectNamespace<TokenRevocations>;
  /** Days for which the lists keep the record of an ended token, 30 by default; 0: not at all. */
  readonly TOMBSTONE_DAYS?: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 3650;

/** Returns how long the record of an ended token is kept. An invalid setting counts as the default. */
export function keepEndedMs({ TOMBSTONE_DAYS: days }: Pick<ListingEnv, "TOMBSTONE_DAYS">): Ms {
  const set = days === undefined || days === "" ? DEFAULT_DAYS : Number(days);
  return DAY_MS * (set >= 0 && set <= MAX_DAYS ? set : DEFAULT_DAYS);
}
