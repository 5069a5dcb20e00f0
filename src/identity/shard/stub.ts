import { within } from "../../base/location.ts";
import type { Env } from "../../env.ts";

/** A shard of entities by its number. */
export function entityShard(env: Env, number: number) {
  return within(env, env.ENTITY_SHARD).getByName(`entities-${number.toString(16).padStart(2, "0")}`);
}
