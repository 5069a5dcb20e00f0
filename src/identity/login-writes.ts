import { sameMetadata } from "./alias-store.ts";
import { newAlias } from "./alias-writes.ts";
import type { AliasPlace, Metadata, NewEntityIds } from "./model.ts";
import type { IdentityTables } from "./tables.ts";

/**
 * Notes a login: finds or makes the entity that has the alias, keeps what the auth method says about it, and the groups that it says
 * the holder is in.
 *
 * @param metadata null when the method says nothing.
 * @param groups null when it knows no groups.
 * @param now ms.
 * @returns the id of the entity; null when the alias or its entity was tampered with.
 */
export function logIn(
  tables: IdentityTables,
  { mountAccessor, name }: AliasPlace,
  metadata: Metadata | null,
  groups: readonly string[] | null,
  ids: NewEntityIds,
  now: number,
): string | null {
  const { entities, aliases } = tables;
  const alias = aliases.byName(mountAccessor, name);
  const known = alias ? entities.byId(alias.entityId) !== null : !aliases.isTaken(mountAccessor, name);
  if (!known) return null;
  if (alias && metadata && !sameMetadata(alias.metadata, metadata)) {
    aliases.write({ ...alias, metadata, updatedAt: now });
  }
  if (!alias) {
    entities.insert(ids.entityId, ids.entityName, { metadata: null, policies: null, disabled: null }, now);
    aliases.write(newAlias(ids, { name, mountAccessor, customMetadata: {}, metadata: metadata ?? {} }, now));
  }
  const entityId = alias?.entityId ?? ids.entityId;
  if (groups) setExternalGroups(tables, entityId, mountAccessor, groups);
  return entityId;
}

/** Makes an entity a member of exactly those external groups of a mount that the mount's method names. */
function setExternalGroups(
  { groups, groupAliases }: IdentityTables,
  entityId: string,
  mountAccessor: string,
  names: readonly string[],
): void {
  const before = new Set(groupAliases.groupIdsOfMember(mountAccessor, entityId));
  const after = new Set(groupAliases.groupIdsOf(mountAccessor, names));
  const left = [...before].filter((id) => !after.has(id));
  const joined = [...after].filter((id) => !before.has(id));
  for (const id of left) groups.members.removeEntity(id, entityId);
  for (const id of joined) groups.members.addEntity(id, entityId);
}
