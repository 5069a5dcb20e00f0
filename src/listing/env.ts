import type { Ms } from "../base/clock.ts";
import { numberSetting } from "../base/number-settings.ts";
import type { TokenEnv } from "../token/env.ts";
import type { AccessorShard } from "./accessor-shard.ts";
import type { TokenRevocations } from "./inventory/revocation-jobs.ts";

export interface ListingEnv extends TokenEnv {
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly TOKEN_REVOCATIONS: DurableObjectNamespace<TokenRevocations>;
  /** Days for which the lists keep the record of an ended token, 30 by default; 0: not at all. */
  readonly TOMBSTONE_DAYS?: string;
}

const DAY_MS = 86_400_000;

/** Returns how long the record of an ended token is kept. */
export function keepEndedMs({ TOMBSTONE_DAYS: days }: Pick<ListingEnv, "TOMBSTONE_DAYS">): Ms {
  return DAY_MS * numberSetting("TOMBSTONE_DAYS", days);
}
