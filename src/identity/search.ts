import { nameKey } from "../base/name.ts";
import { inGroups } from "../base/parallel.ts";
import { identityOf } from "./directory/stub.ts";
import type { IdentityEnv } from "./env.ts";
import type { NamePart } from "./shard/alias-index.ts";
import { shardOfEntity } from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";

/** Entities that a search finds at most. */
export const MAX_FOUND_ENTITIES = 1000;
/** So many digits of an id are looked for in ids. */
const ID_PART = /^(?:entity_)?([0-9a-f]{8,32})(?:\.root)?$/;

/**
 * Ids of the entities that have `text` as a part of their names, of the names of their aliases, or of their ids, in any case. null when
 * they may be more than `MAX_FOUND_ENTITIES`. Asks every shard that has entities: names are in no index by their parts.
 */
export async function searchEntities(env: IdentityEnv, text: string): Promise<string[] | null> {
  const key = nameKey(text);
  const part: NamePart = { key, id: ID_PART.exec(key.replaceAll("-", ""))?.[1] ?? null };
  const directory = identityOf(env);
  const named = await directory.searchNames(key, MAX_FOUND_ENTITIES + 1);
  const lists = await inGroups(await directory.shards(), (shard) =>
    entityShard(env, shard).searchAliases(part, MAX_FOUND_ENTITIES + 1),
  );
  const possible = new Set(lists.flat());
  if (named.length + possible.size > MAX_FOUND_ENTITIES) return null;
  // What only a pointer says of an alias counts for nothing.
  const found = await inGroups([...Map.groupBy(possible, shardOfEntity)], async ([shard, ids]) =>
    shard === null ? [] : entityShard(env, shard).havingPart(ids, part),
  );
  return [...new Set([...named, ...found.flat()])].sort();
}
