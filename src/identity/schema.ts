import type { Migration } from "../storage/schema.ts";

/** The schema of the identity object. Names are kept as sent, and as keys in lower case for comparing. */
export const IDENTITY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "entities with their aliases, and groups with their members",
    sql: `
      CREATE TABLE entities (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL UNIQUE,
        metadata TEXT NOT NULL,
        policies TEXT NOT NULL,
        disabled INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE aliases (
        id TEXT PRIMARY KEY,
        entity_id TEXT NOT NULL,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL,
        mount_accessor TEXT NOT NULL,
        metadata TEXT NOT NULL,
        custom_metadata TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (mount_accessor, name_key),
        UNIQUE (entity_id, mount_accessor)
      ) WITHOUT ROWID;
      CREATE TABLE groups (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL UNIQUE,
        metadata TEXT NOT NULL,
        policies TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE group_entities (
        group_id TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        PRIMARY KEY (entity_id, group_id)
      ) WITHOUT ROWID;
      CREATE INDEX group_entities_by_group ON group_entities (group_id);
      CREATE TABLE group_groups (
        group_id TEXT NOT NULL,
        member_id TEXT NOT NULL,
        PRIMARY KEY (member_id, group_id)
      ) WITHOUT ROWID;
      CREATE INDEX group_groups_by_group ON group_groups (group_id);
      CREATE TABLE group_revision (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
      INSERT INTO group_revision (id, revision) VALUES (1, 1);
    `,
  },
  {
    version: 2,
    description: "external groups, with the names that auth mounts know them by",
    sql: `
      ALTER TABLE groups ADD COLUMN type TEXT NOT NULL DEFAULT 'internal';
      CREATE TABLE group_aliases (
        id TEXT PRIMARY KEY,
        group_id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL,
        mount_accessor TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (mount_accessor, name_key)
      ) WITHOUT ROWID;
    `,
  },
  {
    version: 3,
    description: "seals of entities, groups, their aliases and who is in which group",
    sql: ["entities", "aliases", "groups", "group_entities", "group_groups", "group_aliases"]
      .map((table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB;`)
      .join("\n"),
  },
  {
    version: 4,
    description: "shards of entities, and what they handed over",
    sql: `
      CREATE TABLE entity_shards (number INTEGER PRIMARY KEY);
      CREATE TABLE handed_over (entity_id TEXT PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE older_aliases (exist INTEGER NOT NULL);
      INSERT INTO older_aliases (exist) SELECT EXISTS (SELECT 1 FROM aliases);
    `,
  },
  {
    version: 5,
    description: "entities of which shards have copies",
    sql: "CREATE TABLE lent (entity_id TEXT PRIMARY KEY) WITHOUT ROWID;",
  },
];
