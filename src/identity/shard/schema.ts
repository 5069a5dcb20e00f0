import type { Migration } from "../../storage/schema.ts";

/** The schema of a shard of entities. */
export const ENTITY_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "entities that logins made, by the one alias that each has",
    sql: `
      CREATE TABLE logins (
        mount_accessor TEXT NOT NULL,
        alias_key TEXT NOT NULL,
        id TEXT,
        alias_name TEXT NOT NULL,
        metadata TEXT NOT NULL,
        revision INTEGER NOT NULL,
        leaving INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        seal BLOB,
        PRIMARY KEY (mount_accessor, alias_key)
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX logins_by_id ON logins (id) WHERE id IS NOT NULL;
      CREATE INDEX logins_leaving ON logins (id) WHERE leaving = 1;
      CREATE TABLE shard (asks_first INTEGER NOT NULL);
    `,
  },
  {
    version: 2,
    description: "copies of entities that are with Identity, and the entity that an alias probably has there",
    sql: `
      ALTER TABLE logins ADD COLUMN holder TEXT;
      CREATE TABLE copies (
        entity_id TEXT PRIMARY KEY,
        content TEXT NOT NULL,
        revision TEXT NOT NULL,
        taken_at INTEGER NOT NULL,
        seal BLOB
      ) WITHOUT ROWID;
    `,
  },
];
