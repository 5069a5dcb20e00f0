import type { Migration } from "../../storage/tables.ts";

/** The schema of the directory. Names are stored as sent, and in lower case (`name_key`) for comparison. */
export const IDENTITY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "names of entities, groups with their members and aliases, and what shards must be notified of",
    sql: `
      CREATE TABLE entity_names (
        entity_id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL UNIQUE,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE TABLE groups (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        metadata TEXT NOT NULL,
        policies TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE TABLE group_aliases (
        id TEXT PRIMARY KEY,
        group_id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL,
        mount_accessor TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        seal BLOB,
        UNIQUE (mount_accessor, name_key)
      ) WITHOUT ROWID;
      CREATE TABLE group_entities (
        group_id TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        seal BLOB,
        PRIMARY KEY (entity_id, group_id)
      ) WITHOUT ROWID;
      CREATE INDEX group_entities_by_group ON group_entities (group_id);
      CREATE TABLE group_groups (
        group_id TEXT NOT NULL,
        member_id TEXT NOT NULL,
        seal BLOB,
        PRIMARY KEY (member_id, group_id)
      ) WITHOUT ROWID;
      CREATE INDEX group_groups_by_group ON group_groups (group_id);
      CREATE TABLE entity_shards (number INTEGER PRIMARY KEY);
      CREATE TABLE unsent (entity_id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE state (groups_revision INTEGER NOT NULL, version INTEGER NOT NULL);
      INSERT INTO state (groups_revision, version) VALUES (1, 1);
    `,
  },
];
