import type { Migration } from "../storage/schema.ts";

/** The schema of a team. */
export const TEAM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the team, its tokens, what the organization has to be notified of, and notices of tokens that end",
    // revision > known_revision is the outbox: a change and the note that it has to be passed on are one row. An entry of
    // unsent stands for the token as it is now; without a row in tokens it was deleted. The slot is what makes a token the
    // only one of its kind: "" for the one without a description, "=" and the description for others, NULL for one that
    // another has taken over from.
    sql: `
      CREATE TABLE team (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        revision INTEGER NOT NULL,
        known_revision INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        seal BLOB
      );
      CREATE TABLE tokens (
        token_id TEXT PRIMARY KEY,
        verifier BLOB NOT NULL UNIQUE,
        slot TEXT UNIQUE,
        record TEXT NOT NULL,
        replay BLOB,
        due_at INTEGER,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE INDEX tokens_due ON tokens (due_at) WHERE due_at IS NOT NULL;
      CREATE TABLE unsent (token_id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE notices (
        token_id TEXT NOT NULL,
        webhook_id TEXT NOT NULL,
        trigger TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        next_at INTEGER,
        done INTEGER NOT NULL,
        delivery TEXT NOT NULL,
        document TEXT NOT NULL,
        seal BLOB,
        PRIMARY KEY (token_id, webhook_id, trigger)
      ) WITHOUT ROWID;
    `,
  },
];
