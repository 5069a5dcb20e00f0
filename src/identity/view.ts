import { normalizePolicyNames, ROOT_POLICY } from "../policy/name.ts";
import type { TemplateAlias } from "../policy/template.ts";
import { type EntityRow, metadataOf, namesOf } from "./entity-store.ts";
import type { AliasRecord, EntityView, GroupPart, OwnEntity, OwnEntityState } from "./model.ts";

/** An entity without what its groups add, from its row, its aliases and the groups that it is in itself. */
export function ownEntity(row: EntityRow, aliases: readonly AliasRecord[], groupIds: readonly string[]): OwnEntity {
  return {
    disabled: row.disabled === 1,
    policies: usablePolicies(namesOf(row.policies)),
    entity: {
      id: row.id,
      name: row.name,
      metadata: metadataOf(row.metadata),
      aliases: Object.fromEntries(aliases.map((alias) => [alias.mountAccessor, templateAlias(alias)])),
    },
    groupIds,
  };
}

/**
 * An entity as requests need it.
 *
 * @param groups all that it is in, also through others.
 * @param groupsState in which the groups were read.
 * @returns null when one of the groups was tampered with: without it, what its policies deny would be granted by others.
 */
export function entityView(
  { revision, disabled, policies, entity }: OwnEntityState,
  groups: readonly GroupPart[],
  groupsState: number,
): EntityView | null {
  if (groups.some(({ tampered }) => tampered)) return null;
  return {
    revision: groups.length === 0 ? revision : `${revision}.${groupsState}`,
    disabled,
    policies: normalizePolicyNames([...policies, ...groups.flatMap((part) => part.policies)]),
    entity,
    groups: groups.map(({ group }) => group).sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

/** Policies as stored. No write accepts `root`: this filter is a second line of defence. */
export function usablePolicies(stored: readonly string[]): string[] {
  return normalizePolicyNames(stored.filter((name) => name !== ROOT_POLICY));
}

function templateAlias({ id, name, metadata, customMetadata }: AliasRecord): TemplateAlias {
  return { id, name, metadata, customMetadata };
}
