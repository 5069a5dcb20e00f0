import { nameKey } from "../../base/case-folding.ts";
import type { Ms } from "../../base/clock.ts";
import type { TemplateAlias } from "../../policy/template.ts";
import { usablePolicies } from "../identity-policies.ts";
import type {
  AliasPlace,
  AliasRecord,
  EntityAlias,
  EntityMetadata,
  EntityRecord,
  EntityState,
  EntityWrite,
} from "../model.ts";
import { nameOfEntity } from "./sharding.ts";

/** Maximum size (characters of JSON) of an entity's aliases. An entity is one row, and the platform's limit is 2 MB. */
export const MAX_ALIAS_CHARACTERS = 2 ** 18;

/** An entity as its shard stores it. */
export interface Entity
  extends Pick<EntityRecord, "id" | "metadata" | "policies" | "disabled" | "mergedIds" | "createdAt" | "updatedAt"> {
  /** Name that an operator gave it; null for none. The directory decides about the name and the groups. */
  readonly name: string | null;
  readonly aliases: readonly EntityAlias[];
  /** Aliases that become active when their names lead to this entity; at most one for each mount. Never shown. */
  readonly reserved: readonly EntityAlias[];
  /** Ids of its direct groups; some may be deleted. null when the directory's rows about it were tampered with. */
  readonly groupIds: readonly string[] | null;
}

const EMPTY = {
  ...{ name: null, metadata: {}, policies: [], disabled: false, reserved: [], mergedIds: [], groupIds: [] },
} as const;

export function newEntity(id: string, write: Omit<EntityWrite, "name">, alias: EntityAlias | null, now: Ms): Entity {
  const aliases = alias ? [alias] : [];
  return changedEntity({ ...EMPTY, id, aliases, createdAt: now, updatedAt: now }, write, now);
}

/** Returns an entity with the fields of an operator's write. */
export function changedEntity(entity: Entity, write: Omit<EntityWrite, "name">, now: Ms): Entity {
  return {
    ...entity,
    metadata: write.metadata ?? entity.metadata,
    policies: write.policies ?? entity.policies,
    disabled: write.disabled ?? entity.disabled,
    updatedAt: now,
  };
}

/** True for the same mount and the same name, without regard to case. */
export function isSamePlace(one: AliasPlace, other: AliasPlace): boolean {
  return one.mountAccessor === other.mountAccessor && nameKey(one.name) === nameKey(other.name);
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

/** Returns an entity with a reserved alias activated, in place of its earlier state; null when it is not reserved. */
export function withActivated(entity: Entity, aliasId: string): Entity | null {
  const alias = entity.reserved.find(({ id }) => id === aliasId);
  if (!alias) return null;
  const { aliases, reserved } = withoutAlias(entity, aliasId);
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
  return alias && withActivated(entity, alias.id);
}

/** Like `followed`, for a login, which can change the metadata of the alias. */
export function afterLogin(entity: Entity, place: AliasPlace, metadata: EntityMetadata | null, now: Ms): Entity | null {
  const own = followed(entity, place);
  const alias = own && aliasAt(own, place);
  if (!alias || metadata === null || sameMetadata(alias.metadata, metadata)) return own;
  const changed = { ...alias, metadata, updatedAt: now };
  return { ...own, aliases: own.aliases.map((other) => (other.id === alias.id ? changed : other)) };
}

/** Returns an entity into which these were merged too. */
export function withMerged(entity: Entity, ids: readonly string[]): Entity {
  return { ...entity, mergedIds: [...new Set([...entity.mergedIds, ...ids])] };
}

/** Returns an entity into which none of these was merged. */
export function withoutMerged(entity: Entity, ids: readonly string[]): Entity {
  return { ...entity, mergedIds: entity.mergedIds.filter((id) => !ids.includes(id)) };
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

/** Returns an entity as operators read it. Only direct groups are listed, and some of them may be deleted. */
export function recordOf(entity: Entity): EntityRecord {
  const { reserved: _, groupIds, ...shown } = entity;
  const byAge = (a: EntityAlias, b: EntityAlias) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  return {
    ...shown,
    name: entity.name ?? nameOfEntity(entity.id),
    aliases: entity.aliases.toSorted(byAge).map((alias) => ({ ...alias, entityId: entity.id })),
    directGroupIds: groupIds ?? [],
    inheritedGroupIds: [],
  };
}

/** Returns an entity as requests need it; null when its groups are unknown, since their policies can have a `deny`. */
export function entityStateOf(entity: Entity, revision: number): EntityState | null {
  const { id, name, metadata, disabled, policies, groupIds, aliases } = entity;
  if (groupIds === null) return null;
  const templates = aliases.map(({ mountAccessor, id, name, metadata, customMetadata }): [string, TemplateAlias] => [
    mountAccessor,
    { id, name, metadata, customMetadata },
  ]);
  return {
    revision: String(revision),
    disabled,
    policies: usablePolicies(policies),
    entity: { id, name: name ?? nameOfEntity(id), metadata, aliases: Object.fromEntries(templates) },
    groupIds,
  };
}

/** True when the aliases of an entity exceed `MAX_ALIAS_CHARACTERS`. */
export function isTooLarge({ aliases, reserved }: Entity): boolean {
  return JSON.stringify([aliases, reserved]).length > MAX_ALIAS_CHARACTERS;
}
