import type { Migration } from "../storage/schema.ts";
import type { NewTeamTokenRecord, TeamRecord, TeamSettings, TeamState, TeamToken } from "./record.ts";

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
];

interface TeamRow extends Record<string, SqlStorageValue> {
  record: string;
  revision: number;
  known_revision: number;
  ended: number;
}

/** A stored token. */
export interface StoredToken {
  readonly token: TeamToken;
  readonly verifier: Uint8Array;
}

/** The rows of one team. Every write counts as a change that the organization has to hear of. */
export class TeamStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The team, or null once it is deleted. */
  team(): TeamRecord | null {
    const row = this.#row();
    return row.ended ? null : (JSON.parse(row.record) as TeamRecord);
  }

  /** The token of the team, or null. */
  token(): StoredToken | null {
    const row = this.#sql
      .exec<{ record: string; verifier: ArrayBuffer }>("SELECT record, verifier FROM token")
      .toArray()[0];
    return row ? { token: JSON.parse(row.record) as TeamToken, verifier: new Uint8Array(row.verifier) } : null;
  }

  /** Writes a new team. There must be none. */
  create(team: TeamRecord): void {
    this.#sql.exec(
      "INSERT INTO team (id, record, revision, known_revision, ended) VALUES (1, ?, 1, 0, 0)",
      JSON.stringify(team),
    );
  }

  /** Changes some of the team's settings. */
  update(settings: Partial<TeamSettings>): void {
    this.#sql.exec(
      "UPDATE team SET revision = revision + 1, record = ?",
      JSON.stringify({ ...this.team(), ...settings }),
    );
  }

  /** Stores the token of the team in the place of whatever was there. */
  putToken({ verifier, ...token }: NewTeamTokenRecord): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO token (id, record, verifier) VALUES (1, ?, ?)",
      JSON.stringify(token),
      verifier,
    );
    this.#changed();
  }

  /** Notes the last use of the token at `now` (ms). */
  noteUse(token: TeamToken, now: number): void {
    this.#sql.exec("UPDATE token SET record = ?", JSON.stringify({ ...token, lastUsedAt: now }));
    this.#changed();
  }

  /** Deletes the token. */
  removeToken(): void {
    this.#sql.exec("DELETE FROM token");
    this.#changed();
  }

  /** Deletes the team but for the note that the organization has to hear of it. */
  end(): void {
    this.#sql.exec("DELETE FROM token");
    this.#sql.exec("UPDATE team SET ended = 1, revision = revision + 1");
  }

  /** The whole state of the team. */
  state(): TeamState {
    const row = this.#row();
    return {
      team: JSON.parse(row.record) as TeamRecord,
      token: this.token()?.token ?? null,
      revision: row.revision,
      ended: row.ended !== 0,
      unregistered: row.known_revision === 0,
    };
  }

  /** The state that the organization has to hear of, or null when it knows everything. */
  unsent(): TeamState | null {
    const { revision, known_revision } = this.#row();
    return revision > known_revision ? this.state() : null;
  }

  /** The organization knows the state as of `revision`. */
  sent(revision: number): void {
    this.#sql.exec("UPDATE team SET known_revision = MAX(known_revision, ?)", revision);
  }

  /** The organization has lost the team: it is to be taken in again. */
  forgotten(): void {
    this.#sql.exec("UPDATE team SET known_revision = 0");
  }

  #changed(): void {
    this.#sql.exec("UPDATE team SET revision = revision + 1");
  }

  #row(): TeamRow {
    return this.#sql.exec<TeamRow>("SELECT record, revision, known_revision, ended FROM team").one();
  }
}
