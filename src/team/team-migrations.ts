import type { Migration } from "../storage/schema.ts";

/** The schema of a team. */
export const TEAM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the team, its token, and how much of it the organization knows",
    // revision > known_revision is the outbox: a change and the note that it has to be passed on are one row.
    sql: `
      CREATE TABLE team (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        revision INTEGER NOT NULL,
        known_revision INTEGER NOT NULL,
        ended INTEGER NOT NULL
      );
      CREATE TABLE token (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        verifier BLOB NOT NULL
      );
    `,
  },
  {
    version: 2,
    description: "several tokens of a team, and which of them the organization has to hear of",
    // The slot is what makes a token the only one of its kind: "" for the one without a description, "=" and the
    // description for others, NULL for one that another has taken over from. An entry of unsent stands for the token as it
    // is now; without a row in tokens it was deleted.
    sql: `
      CREATE TABLE tokens (
        token_id TEXT PRIMARY KEY,
        verifier BLOB NOT NULL UNIQUE,
        slot TEXT UNIQUE,
        record TEXT NOT NULL,
        replay BLOB
      ) WITHOUT ROWID;
      CREATE TABLE unsent (token_id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
      INSERT INTO tokens (token_id, verifier, slot, record)
        SELECT json_extract(record, '$.tokenId'), verifier, '', record FROM token;
      INSERT INTO unsent (token_id, revision)
        SELECT token_id, team.revision FROM tokens, team WHERE team.revision > team.known_revision;
      DROP TABLE token;
    `,
  },
  {
    version: 3,
    description: "when there is something to do about a token",
    sql: `
      ALTER TABLE tokens ADD COLUMN due_at INTEGER;
      CREATE INDEX tokens_due ON tokens (due_at) WHERE due_at IS NOT NULL;
    `,
  },
  {
    version: 4,
    description: "notices of tokens that end",
    // Tokens of before are due 30 days before their end, or now.
    sql: `
      CREATE TABLE notices (
        token_id TEXT NOT NULL,
        webhook_id TEXT NOT NULL,
        trigger TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        next_at INTEGER NOT NULL,
        done INTEGER NOT NULL,
        delivery TEXT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (token_id, webhook_id, trigger)
      ) WITHOUT ROWID;
      UPDATE tokens SET due_at = json_extract(record, '$.expiresAt') - 2592000000
        WHERE due_at IS NULL AND json_extract(record, '$.expiresAt') IS NOT NULL;
    `,
  },
  {
    version: 5,
    description: "seals of the team and its tokens",
    sql: "ALTER TABLE team ADD COLUMN seal BLOB; ALTER TABLE tokens ADD COLUMN seal BLOB;",
  },
];
