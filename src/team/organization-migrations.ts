import { NAME_SEARCH_TABLES } from "../storage/name-search.ts";
import { RANKED_INDEX_TABLES } from "../storage/ranked-index.ts";
import type { Migration } from "../storage/schema.ts";

/** The schema of an organization. */
export const ORGANIZATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organization, its teams with their tokens, and what lists and searches them",
    // The keys of a team's entries in the ranked indexes are stored with the team: to remove an entry its key must be
    // known.
    sql: `
      CREATE TABLE organization (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        listed INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        checked_row INTEGER NOT NULL,
        check_at INTEGER NOT NULL
      );
      CREATE TABLE teams (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL UNIQUE,
        name_key TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        team TEXT NOT NULL,
        token TEXT,
        created_by_key TEXT,
        expired_at_key INTEGER,
        last_used_at_key INTEGER
      );
      ${RANKED_INDEX_TABLES}
      ${NAME_SEARCH_TABLES}
    `,
  },
  {
    version: 2,
    description: "several tokens of a team",
    // A token has the row of its team, so the entries in the ranked indexes hold on. The name of the team is kept with each
    // token, so that a page of tokens reads nothing else.
    sql: `
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
      INSERT INTO tokens
        SELECT row, team_id, json_extract(token, '$.tokenId'), json_extract(team, '$.name'), token,
          name_key, created_by_key, expired_at_key, last_used_at_key
        FROM teams WHERE token IS NOT NULL;
      ALTER TABLE teams DROP COLUMN token;
      ALTER TABLE teams DROP COLUMN created_by_key;
      ALTER TABLE teams DROP COLUMN expired_at_key;
      ALTER TABLE teams DROP COLUMN last_used_at_key;
    `,
  },
  {
    version: 3,
    description: "webhooks, and what is known of deliveries there",
    sql: `
      CREATE TABLE webhooks (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL, secret BLOB);
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
  {
    version: 4,
    description: "the seal of the organization",
    sql: "ALTER TABLE organization ADD COLUMN seal BLOB",
  },
];
