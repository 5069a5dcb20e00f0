import { metadataOf } from "../entity-store.ts";
import type { AliasRecord, EntityRecord, OwnEntityState } from "../model.ts";
import type { LoginRow } from "./login-store.ts";
import { aliasIdOf, nameOfEntity } from "./place.ts";

/** The alias of an entity of a shard. */
export function aliasOfLogin(row: LoginRow): AliasRecord {
  return {
    id: aliasIdOf(row.id),
    entityId: row.id,
    name: row.alias_name,
    mountAccessor: row.mount_accessor,
    metadata: metadataOf(row.metadata),
    customMetadata: {},
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** An entity of a shard: what logins made of it, since an operator's first write moves it to `Identity`. */
export function entityOfLogin(row: LoginRow): EntityRecord {
  return {
    id: row.id,
    name: nameOfEntity(row.id),
    metadata: {},
    policies: [],
    disabled: false,
    createdAt: row.created_at,
    updatedAt: row.created_at,
    aliases: [aliasOfLogin(row)],
    directGroupIds: [],
    inheritedGroupIds: [],
  };
}

/** The same as isolates are told it. */
export function ownOfLogin(row: LoginRow): OwnEntityState {
  const { id, name, metadata, customMetadata } = aliasOfLogin(row);
  return {
    revision: `login.${row.revision}`,
    disabled: false,
    policies: [],
    entity: {
      id: row.id,
      name: nameOfEntity(row.id),
      metadata: {},
      aliases: { [row.mount_accessor]: { id, name, metadata, customMetadata } },
    },
    groupIds: [],
  };
}
