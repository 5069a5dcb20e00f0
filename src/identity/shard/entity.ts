import type { Ms } from "../../base/clock.ts";
import type { TemplateAlias } from "../../policy/template.ts";
import { usablePolicies } from "../identity-policies.ts";
import type { EntityAlias, EntityRecord, EntityState, EntityWrite } from "../model.ts";
import { nameOfEntity } from "./sharding.ts";

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

/** Returns an entity into which these were merged too. */
export function withMerged(entity: Entity, ids: readonly string[]): Entity {
  return { ...entity, mergedIds: [...new Set([...entity.mergedIds, ...ids])] };
}

/** Returns an entity into which none of these was merged. */
export function withoutMerged(entity: Entity, ids: readonly string[]): Entity {
  return { ...entity, mergedIds: entity.mergedIds.filter((id) => !ids.includes(id)) };
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
