import type { SystemEnv } from "../system/env.ts";
import type { Identity } from "./directory/identity.ts";
import type { EntityShard } from "./shard/entity-shard.ts";

export interface IdentityEnv extends SystemEnv {
  readonly IDENTITY: DurableObjectNamespace<Identity>;
  readonly ENTITY_SHARD: DurableObjectNamespace<EntityShard>;
}
