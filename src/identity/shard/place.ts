import { nameKey } from "../../base/name.ts";

/** How many objects share the entities that logins make. */
export const ENTITY_SHARDS = 256;

/** Ids that shards draw: UUIDs of version 8 that begin with the number of the shard. An alias has that of its entity with a `b`. */
const ENTITY_ID = /^([0-9a-f]{2})[0-9a-f]{6}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;
/** Names of such entities: the first twenty digits of their ids. */
const NAME = /^entity_([0-9a-f]{2})[0-9a-f]{10}8[0-9a-f]{3}a[0-9a-f]{3}\.root$/;
/** Where an id says whether it is that of an entity or of an alias. */
const KIND_AT = 19;
/** Characters of an id that its entity's name tells. */
const NAMED = 23;
const NAME_PREFIX = "entity_";

/** The shard that decides whose the alias is. The same for all spellings of a name. */
export function shardOfAlias(mountAccessor: string, aliasName: string): number {
  // FNV-1a, folded to a byte.
  let hash = 0x811c9dc5;
  for (const unit of `${mountAccessor}/${nameKey(aliasName)}`) {
    hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & (ENTITY_SHARDS - 1);
}

/** The shard that drew the id of an entity; null when none did. */
export function shardOfEntity(id: string): number | null {
  return numberIn(ENTITY_ID.exec(id));
}

/**
 * The shard that tells isolates of an entity: the one that drew the id, or by its first digits one for an id that none did.
 * All of them are UUIDs.
 */
export function shardThatTells(id: string): number {
  const number = Number.parseInt(id.slice(0, 2), 16);
  return Number.isNaN(number) ? 0 : number;
}

/** The shard of the entity that has this name from its first login on; null for other names. */
export function shardOfName(name: string): number | null {
  return numberIn(NAME.exec(nameKey(name)));
}

/** A new id for an entity of a shard. */
export function drawEntityId(shard: number): string {
  const uuid = crypto.randomUUID();
  return `${hex(shard)}${uuid.slice(2, 14)}8${uuid.slice(15, KIND_AT)}a${uuid.slice(KIND_AT + 1)}`;
}

/** The id of the one alias that an entity of a shard has. */
export function aliasIdOf(entityId: string): string {
  return `${entityId.slice(0, KIND_AT)}b${entityId.slice(KIND_AT + 1)}`;
}

/** The id of the entity that got an alias with this id from its shard; null when no shard drew the id. */
export function entityIdOfAlias(aliasId: string): string | null {
  const id = `${aliasId.slice(0, KIND_AT)}a${aliasId.slice(KIND_AT + 1)}`;
  return aliasId[KIND_AT] === "b" && shardOfEntity(id) !== null ? id : null;
}

/** The name of an entity of a shard. */
export function nameOfEntity(id: string): string {
  return `${NAME_PREFIX}${id.slice(0, NAMED).replaceAll("-", "")}.root`;
}

/** What lists of the entities of shards are ordered by. All three orders are that of the ids. */
export type ListOrder = "id" | "name" | "aliasId";

/**
 * The least id that an entry after `after` can have; entries at it have to be compared one by one. null when nothing of a shard comes
 * after it.
 */
export function firstIdAfter(order: ListOrder, after: string): string | null {
  if (order === "aliasId") return after.slice(0, KIND_AT);
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
