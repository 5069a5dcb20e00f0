import { nameKey } from "../../base/name.ts";
import type { AliasPlace } from "../model.ts";

/** How many objects share all entities. */
export const ENTITY_SHARDS = 256;

/** Ids of entities: UUIDs of version 8 that begin with the number of the shard. */
const ENTITY_ID = /^([0-9a-f]{2})[0-9a-f]{6}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;
/** Names of entities that no operator has named: the first twenty digits of their ids. */
const NAME = /^entity_([0-9a-f]{2})[0-9a-f]{10}8[0-9a-f]{3}a[0-9a-f]{3}\.root$/;
/** Where an id says whether it is that of an entity (`a`) or of an alias (`b`). Before it, both have the same digits. */
const KIND_AT = 19;
/** Characters of an id that the name of an unnamed entity has. */
const NAMED = 23;
const NAME_PREFIX = "entity_";

/** The shard that the name of an alias leads to. The same for all spellings of a name. */
export function shardOfAlias({ mountAccessor, name }: AliasPlace): number {
  // FNV-1a, folded to a byte.
  let hash = 0x811c9dc5;
  for (const unit of `${mountAccessor}/${nameKey(name)}`) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & (ENTITY_SHARDS - 1);
}

/** The shard of an entity; null for an id that no entity can have. */
export function shardOfEntity(id: string): number | null {
  return numberIn(ENTITY_ID.exec(id));
}

/** The shard that may have an unnamed entity which is called so; null for other names. */
export function shardOfName(name: string): number | null {
  return numberIn(NAME.exec(nameKey(name)));
}

/** A shard for an entity that no login makes. */
export function drawShard(): number {
  return Number.parseInt(crypto.randomUUID().slice(0, 2), 16);
}

/** A new id for an entity of a shard. */
export function drawEntityId(shard: number): string {
  const uuid = crypto.randomUUID();
  return `${hex(shard)}${uuid.slice(2, 14)}8${uuid.slice(15, KIND_AT)}a${uuid.slice(KIND_AT + 1)}`;
}

/** The id of the alias that an entity is made with. */
export function firstAliasId(entityId: string): string {
  return `${entityId.slice(0, KIND_AT)}b${entityId.slice(KIND_AT + 1)}`;
}

/** A new id for a further alias of an entity. It begins as the entity's does, so that it says which shard has it. */
export function drawAliasId(entityId: string): string {
  return `${entityId.slice(0, KIND_AT)}b${crypto.randomUUID().slice(KIND_AT + 1)}`;
}

/** What the id of the entity begins with for which the id of an alias was drawn. The alias may have moved to another one since. */
export function entityPrefixOf(aliasId: string): string {
  return aliasId.slice(0, KIND_AT);
}

/** The shard of the entity for which the id of an alias was drawn; null for an id that no alias can have. */
export function shardOfAliasId(id: string): number | null {
  return id[KIND_AT] === "b" ? shardOfEntity(`${entityPrefixOf(id)}a${id.slice(KIND_AT + 1)}`) : null;
}

/** The name of an entity that no operator has named. */
export function nameOfEntity(id: string): string {
  return `${NAME_PREFIX}${id.slice(0, NAMED).replaceAll("-", "")}.root`;
}

/** What lists of entities are ordered by. All three orders are that of the ids; by name, only unnamed ones are. */
export type ListOrder = "id" | "name" | "aliasId";

/**
 * The least id that an entry after `after` can have; entries at it have to be compared one by one. null when nothing comes after
 * it.
 */
export function firstIdAfter(order: ListOrder, after: string): string | null {
  if (order === "aliasId") return entityPrefixOf(after);
  if (order === "id") return after;
  const key = nameKey(after);
  if (!key.startsWith(NAME_PREFIX)) return key < NAME_PREFIX ? "" : null;
  return withDashes(key.slice(NAME_PREFIX.length));
}

/** The first shard that can have ids from `first` on; null when none can. */
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
