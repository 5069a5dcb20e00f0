import { type Failure, invalid } from "../base/errors.ts";
import { nameKey } from "../base/name.ts";
import { err, ok, type Result } from "../base/result.ts";
import { sameMetadata } from "./alias-store.ts";
import type { AliasPlace, AliasRecord, AliasWrite, NewEntityIds } from "./model.ts";
import type { IdentityTables } from "./tables.ts";

/** What came of the write of an alias. */
export interface WrittenAlias {
  readonly id: string;
  readonly entityId: string;
  readonly changed: boolean;
}

type Tables = Pick<IdentityTables, "entities" | "aliases">;

const SECOND_ALIAS = invalid("Alias already exists for requested entity and mount accessor");

/**
 * Creates or changes an alias. Without an id, the alias with this name on this mount is meant. Messages are the reference's
 * (identity/entity-alias).
 *
 * @param ids for a new alias, and for a new entity when none is given.
 * @param place of the alias afterwards, of which its shard says that it is here; null when the write is refused in any case.
 * @param now ms.
 * @returns "other place" when it would have another place.
 */
export function writeAlias(
  tables: Tables,
  id: string | null,
  write: AliasWrite,
  ids: NewEntityIds,
  place: AliasPlace | null,
  now: number,
): Result<WrittenAlias | "other place", Failure> {
  const { aliases } = tables;
  const byId = id === null ? null : aliases.byId(id);
  if (id !== null && !byId) return err(invalid("invalid alias ID provided"));
  const { name, mountAccessor } = write;
  if (!byId && (name === null || mountAccessor === null)) {
    return err(invalid("'id' or 'mount_accessor' and 'name' must be provided"));
  }
  const alias = byId ?? aliases.byName(mountAccessor ?? "", name ?? "");
  const mountAfter = mountAccessor ?? alias?.mountAccessor;
  const keyAfter = nameKey(name ?? alias?.name ?? "");
  if (place?.mountAccessor !== mountAfter || nameKey(place?.name ?? "") !== keyAfter) return ok("other place");
  return alias ? changeAlias(tables, alias, write, now) : addAlias(tables, write, ids, now);
}

/** Adds an alias to the entity that the write names, or to a new one. Nobody has this name on this mount yet. */
function addAlias(
  { entities, aliases }: Tables,
  write: AliasWrite,
  ids: NewEntityIds,
  now: number,
): Result<WrittenAlias, Failure> {
  const name = write.name ?? "";
  const mountAccessor = write.mountAccessor ?? "";
  if (write.entityId !== null) {
    if (!entities.byId(write.entityId)) return err(invalid("invalid canonical ID"));
    if (aliases.ofEntityOnMount(write.entityId, mountAccessor)) return err(SECOND_ALIAS);
  } else {
    entities.insert(ids.entityId, ids.entityName, { metadata: null, policies: null, disabled: null }, now);
  }
  const entityId = write.entityId ?? ids.entityId;
  const customMetadata = write.customMetadata ?? {};
  aliases.write(newAlias({ ...ids, entityId }, { name, mountAccessor, customMetadata, metadata: {} }, now));
  return ok({ id: ids.aliasId, entityId, changed: true });
}

/** Changes what is given of an alias; it may move to another name, mount or entity that is free for it. */
function changeAlias(
  { entities, aliases }: Tables,
  alias: AliasRecord,
  write: AliasWrite,
  now: number,
): Result<WrittenAlias, Failure> {
  const changed: AliasRecord = {
    ...alias,
    name: write.name ?? alias.name,
    mountAccessor: write.mountAccessor ?? alias.mountAccessor,
    entityId: write.entityId ?? alias.entityId,
    customMetadata: write.customMetadata ?? alias.customMetadata,
    updatedAt: now,
  };
  if (sameAlias(changed, alias)) return ok({ id: alias.id, entityId: alias.entityId, changed: false });
  if (!entities.byId(changed.entityId)) {
    return err(invalid("given 'canonical_id' is not associated with an entity"));
  }
  const named = aliases.byName(changed.mountAccessor, changed.name);
  if (named && named.id !== alias.id) {
    return err(invalid("alias with combination of mount accessor and name already exists"));
  }
  const held = aliases.ofEntityOnMount(changed.entityId, changed.mountAccessor);
  if (held && held.id !== alias.id) return err(SECOND_ALIAS);
  aliases.write(changed);
  return ok({ id: alias.id, entityId: changed.entityId, changed: true });
}

/** A new alias of the entity `ids.entityId`. */
export function newAlias(
  ids: Pick<NewEntityIds, "aliasId" | "entityId">,
  fields: Pick<AliasRecord, "name" | "mountAccessor" | "metadata" | "customMetadata">,
  now: number,
): AliasRecord {
  return { ...fields, id: ids.aliasId, entityId: ids.entityId, createdAt: now, updatedAt: now };
}

function sameAlias(a: AliasRecord, b: AliasRecord): boolean {
  return (
    a.name === b.name &&
    a.mountAccessor === b.mountAccessor &&
    a.entityId === b.entityId &&
    sameMetadata(a.customMetadata, b.customMetadata)
  );
}
