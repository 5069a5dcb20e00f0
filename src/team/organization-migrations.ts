import type { Migration } from "../storage/schema.ts";

/** The schema of an organization. */
export const ORGANIZATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organization, its teams with their tokens, what lists and searches them, and webhooks",
    // The name of the team is kept with each token, so that a page of tokens reads nothing else. The indexes have all that
    // the way to a page and a search need.
    sql: `
      CREATE TABLE organization (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        listed INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        checked_row INTEGER NOT NULL,
        check_at INTEGER NOT NULL,
        seal BLOB
      );
      CREATE TABLE teams (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL UNIQUE,
        name_key TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        team TEXT NOT NULL
      );
      CREATE TABLE tokens (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL,
        token_id TEXT NOT NULL,
        team_name TEXT NOT NULL,
        token TEXT NOT NULL,
        name_key TEXT NOT NULL,
        created_by_key TEXT NOT NULL,
        expired_at_key INTEGER NOT NULL,
        last_used_at_key INTEGER NOT NULL,
        UNIQUE (team_id, token_id)
      );
      CREATE INDEX tokens_by_team_name ON tokens (name_key, row);
      CREATE INDEX tokens_by_created_by ON tokens (created_by_key, row, name_key);
      CREATE INDEX tokens_by_expired_at ON tokens (expired_at_key, row, name_key);
      CREATE INDEX tokens_by_last_used_at ON tokens (last_used_at_key, row, name_key);
      CREATE TABLE webhooks (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        record TEXT NOT NULL,
        secret BLOB,
        seal BLOB
      );
      CREATE TABLE deliveries (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        webhook_id TEXT NOT NULL,
        token_id TEXT NOT NULL,
        trigger TEXT NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (webhook_id, token_id, trigger)
      );
      CREATE INDEX deliveries_in_order ON deliveries (webhook_id, row);
    `,
  },
];
