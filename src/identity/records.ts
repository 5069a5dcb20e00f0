import { type EntityRow, metadataOf, namesOf } from "./entity-store.ts";
import type { GroupAliasStore } from "./group-alias-store.ts";
import type { GroupRow, GroupStore, MembershipRow } from "./group-store.ts";
import type { AliasRecord, EntityRecord, GroupRecord } from "./model.ts";

/** An entity as it is read, from its row, its aliases and the groups that it is in. */
export function entityRecord(
  row: EntityRow,
  aliases: readonly AliasRecord[],
  groups: readonly MembershipRow[],
): EntityRecord {
  return {
    id: row.id,
    name: row.name,
    metadata: metadataOf(row.metadata),
    policies: namesOf(row.policies),
    disabled: row.disabled === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    aliases,
    directGroupIds: groups.filter(({ direct }) => direct === 1).map(({ id }) => id),
    inheritedGroupIds: groups.filter(({ direct }) => direct === 0).map(({ id }) => id),
  };
}

/** A group as it is read, with its members and the groups that it is in. */
export function groupRecord(row: GroupRow, groups: GroupStore, aliases: GroupAliasStore): GroupRecord {
  return {
    id: row.id,
    type: row.type,
    alias: aliases.ofGroup(row.id),
    name: row.name,
    metadata: metadataOf(row.metadata),
    policies: namesOf(row.policies),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    memberEntityIds: groups.members.entitiesOf(row.id),
    memberGroupIds: groups.members.groupsOf(row.id),
    parentGroupIds: groups.members.parentsOf(row.id),
  };
}
