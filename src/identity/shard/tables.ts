import type { Migration } from "../../storage/tables.ts";

export const ENTITY_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "entities, and which entities have the aliases whose names lead here",
    sql: `
      CREATE TABLE entities (
        id TEXT PRIMARY KEY,
        alias_mount TEXT,
        alias_key TEXT,
        name TEXT,
        content TEXT NOT NULL,
        directory_version INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX entities_by_alias ON entities (alias_mount, alias_key) WHERE alias_mount IS NOT NULL;
      CREATE TABLE pointers (
        alias_mount TEXT NOT NULL,
        alias_key TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        claim TEXT NOT NULL,
        PRIMARY KEY (alias_mount, alias_key)
      ) WITHOUT ROWID;
    `,
  },
];
