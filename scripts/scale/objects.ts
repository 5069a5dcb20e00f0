import { ENTITY_SHARDS } from "../../src/identity/shard/place.ts";
import { ACCESS_SHARDS } from "../../src/system/access-shards.ts";
import { ACCESSOR_SHARDS } from "../../src/tree/index/accessor-shard-number.ts";
import type { World } from "./world.ts";

/** Which release figures are of: 0.1.0, or these sources. */
export type Release = "before" | "now";

/**
 * How many objects of a class share its load, evenly; null where each client has one of its own. A class that is not named here
 * has to be added before it can appear in the table of operations.
 */
const OBJECTS: Readonly<Record<string, (world: World) => number | null>> = {
  TokenTree: () => null,
  AccessorShard: () => ACCESSOR_SHARDS,
  System: () => 1,
  Identity: () => 1,
  EntityShard: () => ENTITY_SHARDS,
  TokenRoles: () => 1,
  CloudAuth: ({ mounts }) => mounts,
  CloudAccessList: ({ mounts }) => mounts * ACCESS_SHARDS,
  CloudLookups: ({ mounts, accounts }) => Math.max(mounts, accounts),
  Tidy: () => 1,
  ShardTidy: () => ACCESSOR_SHARDS,
};

/** How many objects share the load of a class; null when nobody shares one with others. */
export function objectsOf(type: string, world: World): number | null {
  const count = OBJECTS[type];
  if (!count) throw new Error(`scripts/scale/objects.ts does not say how many objects of ${type} there are`);
  return count(world);
}
