import { nameKey } from "../../base/case-folding.ts";
import type { Ms } from "../../base/clock.ts";
import type { AliasPlace, AliasRecord, EntityAlias, EntityMetadata } from "../model.ts";
import { type Entity, recordOf } from "./entity.ts";

/** Maximum size (characters of JSON) of an entity's aliases. An entity is one row, and the platform's limit is 2 MB. */
export const MAX_ALIAS_CHARACTERS = 2 ** 18;

/** True for the same mount and the same name, without regard to case. */
export function isSamePlace(one: AliasPlace, other: AliasPlace): boolean {
  return one.mountAccessor === other.mountAccessor && nameKey(one.name) === nameKey(other.name);
}

/** The fields of an alias that an operator's write decides. A login changes others. */
export type WrittenAliasFields = Pick<EntityAlias, "id" | "name" | "mountAccessor" | "customMetadata">;

/** True for one alias with the same fields of an operator's write. */
export function isSameWrite(one: WrittenAliasFields, other: WrittenAliasFields): boolean {
  const isSame = one.id === other.id && one.name === other.name && one.mountAccessor === other.mountAccessor;
  return isSame && sameMetadata(one.customMetadata, other.customMetadata);
}

/** Returns the active or reserved alias of an entity with this name on this mount; null when there is none. */
export function aliasAt({ aliases, reserved }: Entity, place: AliasPlace): EntityAlias | null {
  return [...aliases, ...reserved].find((alias) => isSamePlace(alias, place)) ?? null;
}

/** Returns an entity with a new or changed alias as reserved; null if it has another alias on the mount. */
export function withReserved(entity: Entity, alias: EntityAlias): Entity | null {
  const isOnMount = ({ mountAccessor }: EntityAlias) => mountAccessor === alias.mountAccessor;
  if (entity.aliases.some((other) => isOnMount(other) && other.id !== alias.id)) return null;
  return { ...entity, reserved: [...entity.reserved.filter((other) => !isOnMount(other)), alias] };
}

/** Returns an entity with a reserved alias activated, in place of its earlier state. */
export function withActivated(entity: Entity, alias: EntityAlias): Entity {
  const { aliases, reserved } = withoutAlias(entity, alias.id);
  return { ...entity, aliases: [...aliases, alias], reserved };
}

/** Returns an entity without an alias, active or reserved. */
export function withoutAlias(entity: Entity, aliasId: string): Entity {
  return { ...withoutReserved(entity, aliasId), aliases: entity.aliases.filter(({ id }) => id !== aliasId) };
}

/** Returns an entity without a reserved alias. */
export function withoutReserved(entity: Entity, aliasId: string): Entity {
  return { ...entity, reserved: entity.reserved.filter(({ id }) => id !== aliasId) };
}

/** Returns an entity that the name of an alias leads to, with that alias activated; null when it does not have it. */
export function followed(entity: Entity, place: AliasPlace): Entity | null {
  if (entity.aliases.some((alias) => isSamePlace(alias, place))) return entity;
  const alias = aliasAt(entity, place);
  return alias && withActivated(entity, alias);
}

/** Like `followed`, for a login, which can change the metadata of the alias. */
export function afterLogin(entity: Entity, place: AliasPlace, metadata: EntityMetadata | null, now: Ms): Entity | null {
  const own = followed(entity, place);
  const alias = own && aliasAt(own, place);
  if (!alias || metadata === null || sameMetadata(alias.metadata, metadata)) return own;
  const changed = { ...alias, metadata, updatedAt: now };
  return { ...own, aliases: own.aliases.map((other) => (other.id === alias.id ? changed : other)) };
}

/** All aliases of an entity, reserved ones included. */
export function allAliasesOf({ id, aliases, reserved }: Entity): AliasRecord[] {
  return [...aliases, ...reserved].map((alias) => ({ ...alias, entityId: id }));
}

/** True when an entity has no reserved alias, and all its active aliases are in `read`, unchanged. */
export function hasOnly(entity: Entity, read: readonly AliasRecord[]): boolean {
  const known = new Set(read.map((alias) => JSON.stringify(alias)));
  return entity.reserved.length === 0 && recordOf(entity).aliases.every((alias) => known.has(JSON.stringify(alias)));
}

/** True when both have the same names with the same values. */
export function sameMetadata(a: EntityMetadata, b: EntityMetadata): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}

/** True when the aliases of an entity exceed `MAX_ALIAS_CHARACTERS`. */
export function isTooLarge({ aliases, reserved }: Entity): boolean {
  return JSON.stringify([aliases, reserved]).length > MAX_ALIAS_CHARACTERS;
}
