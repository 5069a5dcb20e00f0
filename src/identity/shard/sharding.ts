import { nameKey } from "../../base/case-folding.ts";
import type { AliasPlace } from "../model.ts";

export const ENTITY_SHARDS = 256;

/** Ids of entities: UUIDs of version 8 that begin with the number of the shard, in hex. */
const ENTITY_ID = /^([0-9a-f]{2})[0-9a-f]{6}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;
/** Generated names of entities that no operator has named. They contain the first twenty digits of the id. */
const NAME = /^entity_([0-9a-f]{2})[0-9a-f]{10}8[0-9a-f]{3}a[0-9a-f]{3}\.root$/;
/** Index of the digit that is `a` in ids of entities and `b` in those of aliases. The digits before it are the same. */
const KIND_AT = 19;
/** Number of characters of the id (with dashes) that a generated name is made of. */
const NAMED = 23;
const NAME_PREFIX = "entity_";

/** Returns the shard that the name of an alias leads to. The same for all spellings of a name. */
export function shardOfAlias({ mountAccessor, name }: AliasPlace): number {
  // FNV-1a, folded to a byte.
  let hash = 0x811c9dc5;
  for (const unit of `${mountAccessor}/${nameKey(name)}`) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & (ENTITY_SHARDS - 1);
}

/** Returns the shard of an entity; null for an id that no entity can have. */
export function shardOfEntity(id: string): number | null {
  return numberIn(ENTITY_ID.exec(id));
}

/** Returns the shard of the entity with a generated name; null for a name of another form. */
export function shardOfName(name: string): number | null {
  return numberIn(NAME.exec(nameKey(name)));
}

/** Chooses a random shard, for an entity that no login creates. */
export function randomShard(): number {
  return Number.parseInt(crypto.randomUUID().slice(0, 2), 16);
}

/** Generates an id for an entity of a shard. */
export function newEntityId(shard: number): string {
  const uuid = crypto.randomUUID();
  return `${hex(shard)}${uuid.slice(2, 14)}8${uuid.slice(15, KIND_AT)}a${uuid.slice(KIND_AT + 1)}`;
}

/** Returns the id of the alias with which an entity is created. */
export function firstAliasId(entityId: string): string {
  return `${entityId.slice(0, KIND_AT)}b${entityId.slice(KIND_AT + 1)}`;
}

/** Generates an id for a further alias of an entity. It begins like the entity's id, and so contains the shard. */
export function newAliasId(entityId: string): string {
  return `${entityId.slice(0, KIND_AT)}b${crypto.randomUUID().slice(KIND_AT + 1)}`;
}

/** Returns the prefix of the id of the entity for which an alias id was generated. The alias may have moved since. */
export function entityPrefixOf(aliasId: string): string {
  return aliasId.slice(0, KIND_AT);
}

/** Returns the shard of the entity for which an alias id was generated; null for an id that no alias can have. */
export function shardOfAliasId(id: string): number | null {
  return id[KIND_AT] === "b" ? shardOfEntity(`${entityPrefixOf(id)}a${id.slice(KIND_AT + 1)}`) : null;
}

/** Returns the generated name of an entity that no operator has named. */
export function nameOfEntity(id: string): string {
  return `${NAME_PREFIX}${id.slice(0, NAMED).replaceAll("-", "")}.root`;
}

/** Order of a list of entities. Each is the order of the ids: "name" is for entities with generated names only. */
export type ListOrder = "id" | "name" | "aliasId";

/**
 * Returns a lower bound for the ids of entries after `after`; null when no entry can follow. An entry with this id may
 * be `after` itself, so the caller must compare each entry.
 */
export function firstIdAfter(order: ListOrder, after: string): string | null {
  if (order === "aliasId") return entityPrefixOf(after);
  if (order === "id") return after;
  const key = nameKey(after);
  if (!key.startsWith(NAME_PREFIX)) return key < NAME_PREFIX ? "" : null;
  return withDashes(key.slice(NAME_PREFIX.length));
}

/** Returns the first shard that can have ids from `first` on; null when none can. */
export function firstShardFrom(first: string): number | null {
  for (let shard = 0; shard < ENTITY_SHARDS; shard++) if (hex(shard) >= first.slice(0, 2)) return shard;
  return null;
}

function withDashes(digits: string): string {
  const groups = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20)];
  return groups.filter((group) => group !== "").join("-");
}

function hex(shard: number): string {
  return shard.toString(16).padStart(2, "0");
}

function numberIn(match: RegExpExecArray | null): number | null {
  return match ? Number.parseInt(match[1] ?? "", 16) : null;
}
