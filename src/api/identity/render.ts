import { formatRfc3339 } from "../../base/rfc3339.ts";
import type { AliasRecord, EntityRecord, GroupAliasRecord, GroupRecord, Metadata } from "../../identity/model.ts";
import type { Installation } from "../../system/installation.ts";
import type { Shape } from "../../wire/shape.ts";

/** What reading shows of an entity. */
export function showEntity(entity: EntityRecord, installation: Installation): Record<string, unknown> {
  return {
    id: entity.id,
    name: entity.name,
    metadata: shown(entity.metadata),
    policies: entity.policies,
    disabled: entity.disabled,
    namespace_id: "root",
    creation_time: formatRfc3339(entity.createdAt),
    last_update_time: formatRfc3339(entity.updatedAt),
    merged_entity_ids: null,
    aliases: entity.aliases.map((alias) => aliasOf(alias, installation)),
    direct_group_ids: entity.directGroupIds,
    inherited_group_ids: entity.inheritedGroupIds,
    group_ids: [...entity.directGroupIds, ...entity.inheritedGroupIds],
  };
}

/** What reading shows of an alias. */
export function showAlias(alias: AliasRecord, installation: Installation): Record<string, unknown> {
  return { ...aliasOf(alias, installation), custom_metadata: alias.customMetadata, namespace_id: "root" };
}

/** What reading an entity shows of each of its aliases. */
function aliasOf(alias: AliasRecord, installation: Installation): Record<string, unknown> {
  return {
    ...mountOf(alias, installation),
    id: alias.id,
    canonical_id: alias.entityId,
    name: alias.name,
    metadata: shown(alias.metadata),
    custom_metadata: shown(alias.customMetadata),
    merged_from_canonical_ids: null,
    local: false,
    creation_time: formatRfc3339(alias.createdAt),
    last_update_time: formatRfc3339(alias.updatedAt),
  };
}

/** What reading shows of a group. */
export function showGroup(group: GroupRecord, installation: Installation): Record<string, unknown> {
  // The members of an external group can't be set: while it has none, clients expect null rather than an empty list.
  const members = (ids: readonly string[]) => (group.type === "external" && ids.length === 0 ? null : ids);
  return {
    id: group.id,
    name: group.name,
    type: group.type,
    metadata: shown(group.metadata),
    policies: group.policies,
    member_entity_ids: members(group.memberEntityIds),
    member_group_ids: members(group.memberGroupIds),
    parent_group_ids: group.parentGroupIds,
    alias: group.alias ? showGroupAlias(group.alias, installation) : {},
    namespace_id: "root",
    creation_time: formatRfc3339(group.createdAt),
    last_update_time: formatRfc3339(group.updatedAt),
  };
}

/** What reading shows of a group alias, by itself and inside its group. */
export function showGroupAlias(alias: GroupAliasRecord, installation: Installation): Record<string, unknown> {
  return { ...aliasOf(withoutMetadata(alias), installation), namespace_id: "root" };
}

/** What a list shows of a group alias beside its id. */
export function summarizeGroupAlias(alias: GroupAliasRecord, installation: Installation): Record<string, unknown> {
  return summarizeAlias(withoutMetadata(alias), installation);
}

/** A group alias in the form of an alias of an entity: clients see both in one shape. Metadata is of entities alone. */
function withoutMetadata({ groupId, ...alias }: GroupAliasRecord): AliasRecord {
  return { ...alias, entityId: groupId, metadata: {}, customMetadata: {} };
}

/** What a list by id shows of an entity beside its id. */
export function summarizeEntity(entity: EntityRecord, installation: Installation): Record<string, unknown> {
  const aliases = entity.aliases.map((alias) => ({
    ...mountOf(alias, installation),
    id: alias.id,
    name: alias.name,
  }));
  return { name: entity.name, aliases };
}

/** What a list shows of an alias beside its id. */
export function summarizeAlias(alias: AliasRecord, installation: Installation): Record<string, unknown> {
  return { ...mountOf(alias, installation), name: alias.name, canonical_id: alias.entityId };
}

/** What a list by id shows of a group beside its id. */
export function summarizeGroup(group: GroupRecord): Record<string, unknown> {
  return {
    name: group.name,
    num_member_entities: group.memberEntityIds.length,
    num_parent_groups: group.parentGroupIds.length,
  };
}

/** The mount of an alias; nothing is known of one that is gone. */
function mountOf(
  { mountAccessor }: Pick<AliasRecord, "mountAccessor">,
  { mounts }: Installation,
): Record<string, string> {
  const mount = mounts.find(({ accessor }) => accessor === mountAccessor);
  return {
    mount_accessor: mountAccessor,
    mount_path: mount ? `auth/${mount.path}` : "",
    mount_type: mount?.type ?? "",
  };
}

function shown(metadata: Metadata): Metadata | null {
  return Object.keys(metadata).length === 0 ? null : metadata;
}

const MOUNT_SHAPE = { mount_accessor: "string", mount_path: "string", mount_type: "string" } as const;

/** The shape of what a list shows of an alias. */
export const ALIAS_SUMMARY_SHAPE = { ...MOUNT_SHAPE, name: "string", canonical_id: "string" } as const satisfies Shape;

const ALIAS_OF_ENTITY_SHAPE = {
  ...MOUNT_SHAPE,
  id: "string",
  canonical_id: "string",
  name: "string",
  metadata: "object | null",
  custom_metadata: "object | null",
  merged_from_canonical_ids: ["string", null],
  local: "boolean",
  creation_time: "string",
  last_update_time: "string",
} as const;

/** The shape of an alias. */
export const ALIAS_SHAPE = { ...ALIAS_OF_ENTITY_SHAPE, namespace_id: "string" } as const satisfies Shape;

/** The shape of what a list shows of an entity. */
export const ENTITY_SUMMARY_SHAPE = {
  name: "string",
  aliases: [{ ...MOUNT_SHAPE, id: "string", name: "string" }],
} as const satisfies Shape;

/** The shape of an entity. */
export const ENTITY_SHAPE = {
  id: "string",
  name: "string",
  metadata: "object | null",
  policies: ["string"],
  disabled: "boolean",
  namespace_id: "string",
  creation_time: "string",
  last_update_time: "string",
  merged_entity_ids: ["string", null],
  aliases: [ALIAS_OF_ENTITY_SHAPE],
  direct_group_ids: ["string"],
  inherited_group_ids: ["string"],
  group_ids: ["string"],
} as const satisfies Shape;

/** The shape of what a list shows of a group. */
export const GROUP_SUMMARY_SHAPE = {
  name: "string",
  num_member_entities: "integer",
  num_parent_groups: "integer",
} as const satisfies Shape;

/** The shape of a group. Its members are null where they can't be set. */
export const GROUP_SHAPE = {
  id: "string",
  name: "string",
  type: "string",
  metadata: "object | null",
  policies: ["string"],
  member_entity_ids: ["string", null],
  member_group_ids: ["string", null],
  parent_group_ids: ["string"],
  alias: "object",
  namespace_id: "string",
  creation_time: "string",
  last_update_time: "string",
} as const satisfies Shape;
