import { formatRfc3339 } from "../../base/clock.ts";
import type { AliasRecord, EntityMetadata, EntityRecord, GroupAliasRecord, GroupRecord } from "../../identity/model.ts";
import type { Mount } from "../../system/mount.ts";
import { fieldsOf, optional, type ViewFields, view } from "../../wire/view.ts";

/** A record of the identity store, with the mounts, which its aliases refer to. */
export interface Shown<T> {
  readonly thing: T;
  readonly mounts: readonly Mount[];
}

/** The mount of an alias. Path and type are empty when it was disabled. */
const MOUNT: ViewFields<Shown<Pick<AliasRecord, "mountAccessor">>> = {
  mount_accessor: ["string", ({ thing }) => thing.mountAccessor],
  mount_path: ["string", (shown) => mountOf(shown).path],
  mount_type: ["string", (shown) => mountOf(shown).type],
};

/** An alias in a list by id. */
const ALIAS_SUMMARY: ViewFields<Shown<AliasRecord>> = {
  ...MOUNT,
  canonical_id: ["string", ({ thing }) => thing.entityId],
  name: ["string", ({ thing }) => thing.name],
  metadata: [["or null", { "*": "string" }], ({ thing }) => nullIfEmpty(thing.metadata)],
  custom_metadata: [["or null", { "*": "string" }], ({ thing }) => nullIfEmpty(thing.customMetadata)],
  local: ["boolean", () => false],
};

const ALIAS_OF_ENTITY: ViewFields<Shown<AliasRecord>> = {
  ...ALIAS_SUMMARY,
  id: ["string", ({ thing }) => thing.id],
  merged_from_canonical_ids: [["string", null], () => null],
  creation_time: ["string", ({ thing }) => formatRfc3339(thing.createdAt)],
  last_update_time: ["string", ({ thing }) => formatRfc3339(thing.updatedAt)],
};

const INNER_ALIAS_VIEW = view(ALIAS_OF_ENTITY);

export const ALIAS_VIEW = view<Shown<AliasRecord>>({
  ...ALIAS_OF_ENTITY,
  custom_metadata: [["or null", { "*": "string" }], ({ thing }) => thing.customMetadata],
  namespace_id: ["string", () => "root"],
});

export const GROUP_ALIAS_VIEW = view<Shown<GroupAliasRecord>>({
  ...fieldsOf(asEntityAlias, ALIAS_OF_ENTITY),
  namespace_id: ["string", () => "root"],
});

export const ALIAS_SUMMARY_VIEW = view(ALIAS_SUMMARY);
export const GROUP_ALIAS_SUMMARY_VIEW = view<Shown<GroupAliasRecord>>(fieldsOf(asEntityAlias, ALIAS_SUMMARY));

export const ENTITY_VIEW = view<Shown<EntityRecord>>({
  id: ["string", ({ thing }) => thing.id],
  name: ["string", ({ thing }) => thing.name],
  metadata: [["or null", { "*": "string" }], ({ thing }) => nullIfEmpty(thing.metadata)],
  policies: [["string"], ({ thing }) => thing.policies],
  disabled: ["boolean", ({ thing }) => thing.disabled],
  namespace_id: ["string", () => "root"],
  creation_time: ["string", ({ thing }) => formatRfc3339(thing.createdAt)],
  last_update_time: ["string", ({ thing }) => formatRfc3339(thing.updatedAt)],
  merged_entity_ids: [["string", null], ({ thing }) => (thing.mergedIds.length === 0 ? null : thing.mergedIds)],
  aliases: [
    [INNER_ALIAS_VIEW.shape],
    ({ thing, mounts }) => thing.aliases.map((alias) => INNER_ALIAS_VIEW.show({ thing: alias, mounts })),
  ],
  direct_group_ids: [["string"], ({ thing }) => thing.directGroupIds],
  inherited_group_ids: [["string"], ({ thing }) => thing.inheritedGroupIds],
  group_ids: [["string"], ({ thing }) => [...thing.directGroupIds, ...thing.inheritedGroupIds]],
});

const ALIAS_IN_SUMMARY_VIEW = view<Shown<AliasRecord>>({
  ...MOUNT,
  id: ["string", ({ thing }) => thing.id],
  name: ["string", ({ thing }) => thing.name],
});

/**
 * An entity in a list by id. `display_name`: the name of a person whose alias is an id, such as the `sub` of a JWT, or of
 * the AppRole role whose role-id is the alias.
 */
export const ENTITY_SUMMARY_VIEW = view<Shown<EntityRecord>>({
  name: ["string", ({ thing }) => thing.name],
  display_name: ["string", ({ thing }) => newestFirst(thing.aliases).find((name) => name !== "") ?? ""],
  disabled: ["boolean", ({ thing }) => thing.disabled],
  aliases: [
    [ALIAS_IN_SUMMARY_VIEW.shape],
    ({ thing, mounts }) => thing.aliases.map((alias) => ALIAS_IN_SUMMARY_VIEW.show({ thing: alias, mounts })),
  ],
});

/** The `name`, or the `role_name`, that the last login by each alias had in its metadata, the newest first. */
function newestFirst(aliases: readonly AliasRecord[]): string[] {
  return [...aliases]
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .map(({ metadata }) => metadata.name || (metadata.role_name ?? ""));
}

const NAMED_ALIAS_VIEW = view<Shown<AliasRecord>>({
  name: ["string", ({ thing }) => thing.name],
  metadata: [{ "*": "string" }, ({ thing }) => thing.metadata],
});

/** The names by which people know an entity: its own, and the names and metadata of its aliases. */
export const ENTITY_NAMES_VIEW = view<Shown<EntityRecord>>({
  name: ["string", ({ thing }) => thing.name],
  aliases: [
    [NAMED_ALIAS_VIEW.shape],
    ({ thing, mounts }) => thing.aliases.map((alias) => NAMED_ALIAS_VIEW.show({ thing: alias, mounts })),
  ],
});

export const GROUP_VIEW = view<Shown<GroupRecord>>({
  id: ["string", ({ thing }) => thing.id],
  name: ["string", ({ thing }) => thing.name],
  type: ["string", ({ thing }) => thing.type],
  metadata: [["or null", { "*": "string" }], ({ thing }) => nullIfEmpty(thing.metadata)],
  policies: [["string"], ({ thing }) => thing.policies],
  member_entity_ids: [["string", null], ({ thing }) => membersOf(thing, thing.memberEntityIds)],
  member_group_ids: [["string", null], ({ thing }) => membersOf(thing, thing.memberGroupIds)],
  parent_group_ids: [["string"], ({ thing }) => thing.parentGroupIds],
  alias: [
    optional(GROUP_ALIAS_VIEW.shape),
    ({ thing, mounts }) => (thing.alias ? GROUP_ALIAS_VIEW.show({ thing: thing.alias, mounts }) : {}),
  ],
  namespace_id: ["string", () => "root"],
  creation_time: ["string", ({ thing }) => formatRfc3339(thing.createdAt)],
  last_update_time: ["string", ({ thing }) => formatRfc3339(thing.updatedAt)],
});

/** A group in a list by id. */
export const GROUP_SUMMARY_VIEW = view<Shown<GroupRecord>>({
  name: ["string", ({ thing }) => thing.name],
  num_member_entities: ["integer", ({ thing }) => thing.memberEntityIds.length],
  num_parent_groups: ["integer", ({ thing }) => thing.parentGroupIds.length],
});

/** Converts a group alias to an alias of an entity: answers show both with the same fields. Only entities have metadata. */
function asEntityAlias({ thing, mounts }: Shown<GroupAliasRecord>): Shown<AliasRecord> {
  const { groupId, ...alias } = thing;
  return { thing: { ...alias, entityId: groupId, metadata: {}, customMetadata: {} }, mounts };
}

/** The members of an external group can't be set. While it has none, clients expect null and not an empty list. */
function membersOf({ type }: GroupRecord, ids: readonly string[]): readonly string[] | null {
  return type === "external" && ids.length === 0 ? null : ids;
}

function mountOf({ thing, mounts }: Shown<Pick<AliasRecord, "mountAccessor">>): Pick<Mount, "path" | "type"> {
  const mount = mounts.find(({ accessor }) => accessor === thing.mountAccessor);
  return mount ? { path: `auth/${mount.path}`, type: mount.type } : { path: "", type: "" };
}

function nullIfEmpty(metadata: EntityMetadata): EntityMetadata | null {
  return Object.keys(metadata).length === 0 ? null : metadata;
}
