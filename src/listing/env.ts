import type { TokenEnv } from "../token/env.ts";
import type { AccessorShard } from "./accessor-shard.ts";
import type { TokenRevocations } from "./inventory/revocations.ts";

/** The bindings that the lists and the inventory use. */
export interface ListingEnv extends TokenEnv {
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly TOKEN_REVOCATIONS: DurableObjectNamespace<TokenRevocations>;
}
