import { nameKey } from "../../base/name.ts";
import type { TemplateAlias } from "../../policy/template.ts";
import type {
  AliasPlace,
  AliasRecord,
  EntityAlias,
  EntityRecord,
  EntityState,
  EntityWrite,
  Metadata,
} from "../model.ts";
import { usablePolicies } from "../rules.ts";
import { nameOfEntity } from "./place.ts";

/** Characters of the aliases of an entity together: all of it is one row, and a row of the platform has 2 MB at most. */
export const MAX_ALIAS_CHARACTERS = 2 ** 18;

/** An entity as its shard has it. Times in ms. */
export interface Entity {
  readonly id: string;
  /** null for one that no operator has named. The directory decides it, as it does the groups. */
  readonly name: string | null;
  readonly metadata: Metadata;
  readonly policies: readonly string[];
  readonly disabled: boolean;
  readonly aliases: readonly EntityAlias[];
  /** Aliases that it gets as soon as the shards of their names point to it: at most one on a mount. They are never shown. */
  readonly reserved: readonly EntityAlias[];
  /** Ids of the groups that it is in itself; some may be gone. null when the directory does not know them for certain. */
  readonly groupIds: readonly string[] | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A new entity. `now` in ms. */
export function newEntity(
  id: string,
  { metadata, policies, disabled }: Omit<EntityWrite, "name">,
  alias: EntityAlias | null,
  now: number,
): Entity {
  return {
    id,
    name: null,
    metadata: metadata ?? {},
    policies: policies ?? [],
    disabled: disabled ?? false,
    aliases: alias ? [alias] : [],
    reserved: [],
    groupIds: [],
    createdAt: now,
    updatedAt: now,
  };
}

/** An entity with what an operator's write says about it. `now` in ms. */
export function changedEntity(entity: Entity, write: Omit<EntityWrite, "name">, now: number): Entity {
  return {
    ...entity,
    metadata: write.metadata ?? entity.metadata,
    policies: write.policies ?? entity.policies,
    disabled: write.disabled ?? entity.disabled,
    updatedAt: now,
  };
}

/** True when two names of a mount are the same. */
export function isSamePlace(one: AliasPlace, other: AliasPlace): boolean {
  return one.mountAccessor === other.mountAccessor && nameKey(one.name) === nameKey(other.name);
}

/** The alias of an entity with this name, or the one that is reserved for it. */
export function aliasAt({ aliases, reserved }: Entity, place: AliasPlace): EntityAlias | null {
  return [...aliases, ...reserved].find((alias) => isSamePlace(alias, place)) ?? null;
}

/** An entity for which an alias is reserved, new or in place of what this is now; null when it has another alias on the mount. */
export function withReserved(entity: Entity, alias: EntityAlias): Entity | null {
  const isOnMount = ({ mountAccessor }: EntityAlias) => mountAccessor === alias.mountAccessor;
  if (entity.aliases.some((other) => isOnMount(other) && other.id !== alias.id)) return null;
  return { ...entity, reserved: [...entity.reserved.filter((other) => !isOnMount(other)), alias] };
}

/** An entity that has the alias which was reserved for it, instead of what this was before; null when none is reserved. */
export function withActivated(entity: Entity, aliasId: string): Entity | null {
  const alias = entity.reserved.find(({ id }) => id === aliasId);
  if (!alias) return null;
  const { aliases, reserved } = withoutAlias(entity, aliasId);
  return { ...entity, aliases: [...aliases, alias], reserved };
}

/** An entity without an alias. */
export function withoutAlias(entity: Entity, aliasId: string): Entity {
  return { ...withoutReserved(entity, aliasId), aliases: entity.aliases.filter(({ id }) => id !== aliasId) };
}

/** An entity for which an alias is not reserved any more. */
export function withoutReserved(entity: Entity, aliasId: string): Entity {
  return { ...entity, reserved: entity.reserved.filter(({ id }) => id !== aliasId) };
}

/**
 * An entity when somebody came to it by the name of an alias; null when it does not have the alias. One that is reserved becomes its
 * own: the name leads here by now.
 */
export function followed(entity: Entity, place: AliasPlace): Entity | null {
  if (entity.aliases.some((alias) => isSamePlace(alias, place))) return entity;
  const alias = aliasAt(entity, place);
  return alias && withActivated(entity, alias.id);
}

/**
 * The same after a login, which may say something new about the holder.
 *
 * @param metadata null when the method says nothing.
 * @param now ms.
 */
export function afterLogin(entity: Entity, place: AliasPlace, metadata: Metadata | null, now: number): Entity | null {
  const own = followed(entity, place);
  const alias = own && aliasAt(own, place);
  if (!alias || metadata === null || sameMetadata(alias.metadata, metadata)) return own;
  const changed = { ...alias, metadata, updatedAt: now };
  return { ...own, aliases: own.aliases.map((other) => (other.id === alias.id ? changed : other)) };
}

/** True when both hold the same names with the same values. */
export function sameMetadata(a: Metadata, b: Metadata): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}

/** An entity as operators read it; its groups are those that it is in itself, and some of them may be gone. */
export function recordOf(entity: Entity): EntityRecord {
  const { reserved: _, groupIds, ...shown } = entity;
  const byAge = (a: EntityAlias, b: EntityAlias) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  return {
    ...shown,
    name: entity.name ?? nameOfEntity(entity.id),
    aliases: entity.aliases.toSorted(byAge).map((alias) => aliasRecord(entity, alias)),
    directGroupIds: groupIds ?? [],
    inheritedGroupIds: [],
  };
}

/** An alias as operators read it. */
export function aliasRecord({ id }: Entity, alias: EntityAlias): AliasRecord {
  return { ...alias, entityId: id };
}

/** An entity as requests need it; null when its groups are unknown: without one, what its policies deny would be granted. */
export function stateOf({
  entity,
  revision,
}: {
  readonly entity: Entity;
  readonly revision: number;
}): EntityState | null {
  const { id, name, metadata, disabled, policies, groupIds, aliases } = entity;
  if (groupIds === null) return null;
  const templates = aliases.map((alias): [string, TemplateAlias] => {
    const { metadata: said, customMetadata } = alias;
    return [alias.mountAccessor, { id: alias.id, name: alias.name, metadata: said, customMetadata }];
  });
  return {
    revision: String(revision),
    disabled,
    policies: usablePolicies(policies),
    entity: { id, name: name ?? nameOfEntity(id), metadata, aliases: Object.fromEntries(templates) },
    groupIds,
  };
}

/** True when the aliases of an entity are larger than its row may hold. */
export function isTooLarge({ aliases, reserved }: Entity): boolean {
  return JSON.stringify([aliases, reserved]).length > MAX_ALIAS_CHARACTERS;
}
