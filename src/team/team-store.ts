import { type AgedTerm, termsAbout } from "../crypto/key-terms.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { blobsOf, SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf, type Migration, storedJson, type Tables } from "../storage/tables.ts";
import { nextDueAt } from "./notices/rules.ts";
import type { NewTeamTokenRecord, TeamRecord, TeamSettings, TeamState, TeamToken } from "./record.ts";

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

interface TeamRow extends Record<string, SqlStorageValue> {
  id: number;
  record: string;
  revision: number;
  known_revision: number;
  ended: number;
}

interface TokenRow extends Record<string, SqlStorageValue> {
  token_id: string;
  record: string;
  verifier: ArrayBuffer;
  slot: string | null;
  replay: ArrayBuffer | null;
  /** When there is something to do about it (ms); null: never. */
  due_at: number | null;
}

const TEAM: TableShape = { table: "team", kind: "team", key: ["id"], sealed: ["record"] };
const TOKEN: TableShape = {
  table: "tokens",
  kind: "team token",
  key: ["token_id"],
  sealed: ["verifier", "slot", "record"],
  values: ({ replay }) => blobsOf([replay]),
};

/** A stored token. */
interface StoredToken {
  readonly token: TeamToken;
  readonly verifier: Uint8Array;
  /** False once another token has taken over from this one. */
  readonly current: boolean;
  /** The sealed text of the token that took over, for a repeat of the rotation; null when there is none to repeat. */
  readonly replay: Uint8Array | null;
}

/**
 * The rows of one team. Every write counts as a change of which the organization has to be notified. Rows that were tampered with
 * count as absent.
 */
export class TeamStore {
  readonly #sql: Tables;
  readonly #teams: SealedTable<TeamRow>;
  readonly #tokens: SealedTable<TokenRow>;

  constructor(sql: Tables, seals: RowSeals) {
    this.#sql = sql;
    this.#teams = new SealedTable(sql, seals, TEAM);
    this.#tokens = new SealedTable(sql, seals, TOKEN);
  }

  /** False before there is a team, and after everything was deleted. */
  get exists(): boolean {
    return this.#sql.exist;
  }

  /** The team, or null once it is deleted. */
  team(): TeamRecord | null {
    const state = this.latest();
    return state?.ended ? null : (state?.team ?? null);
  }

  /** Those of `aged` under which tokens may be hashed. */
  termsOfTokens(aged: readonly AgedTerm[]): number[] {
    if (aged.length === 0) return [];
    const records = columnOf<string>(this.#sql, "SELECT record FROM tokens");
    return records.flatMap((record) => termsAbout(aged, storedJson<TeamToken>(record).createdAt));
  }

  /** The token with this id, or with "" the one without a description. */
  token(tokenId: string): StoredToken | null {
    return tokenId === "" ? this.#token("slot", "") : this.#token("token_id", tokenId);
  }

  /** The token with this description. */
  described(description: string): StoredToken | null {
    return this.#token("slot", slotOf(description));
  }

  /** The token whose text has this verifier. */
  tokenOf(verifier: Uint8Array): StoredToken | null {
    return this.#token("verifier", verifier.slice().buffer);
  }

  /** How many tokens there are. */
  countTokens(): number {
    return this.#tokens.count();
  }

  /** Writes a new team. There must be none. */
  create(team: TeamRecord): void {
    this.#teams.put({ id: 1, record: JSON.stringify(team), revision: 1, known_revision: 0, ended: 0 });
  }

  /** Changes some of the team's settings. */
  update(settings: Partial<TeamSettings>): void {
    const row = this.#teams.find(1);
    if (!row) return;
    const record = JSON.stringify({ ...storedJson<TeamRecord>(row.record), ...settings });
    this.#teams.put({ ...row, record, revision: row.revision + 1 });
  }

  /** Stores a new token. Another one with its description can only be one that was tampered with: it takes its place. */
  addToken({ verifier, ...token }: NewTeamTokenRecord): void {
    const slot = slotOf(token.description);
    this.#sql.exec("DELETE FROM tokens WHERE slot = ?", slot);
    this.#tokens.put({
      token_id: token.tokenId,
      verifier: verifier.slice().buffer,
      slot,
      record: JSON.stringify(token),
      replay: null,
      due_at: nextDueAt(token, token.createdAt),
    });
    this.#changed([token.tokenId]);
  }

  /** Changes a token. */
  updateToken(token: TeamToken): void {
    this.#changeToken(token, {});
  }

  /** Changes a token that another takes over from at `now` (ms): its description is free for that. */
  retireToken(token: TeamToken, replay: Uint8Array | null, now: number): void {
    this.#changeToken(token, {
      slot: null,
      replay: replay?.slice().buffer ?? null,
      due_at: nextDueAt(token, now),
    });
  }

  /** Notes when there is next something to do about a token (ms); null: never. */
  setDue(tokenId: string, dueAt: number | null): void {
    this.#sql.exec("UPDATE tokens SET due_at = ? WHERE token_id = ?", dueAt, tokenId);
  }

  /** When there is something to do about a token (ms); null: never. */
  nextDue(): number | null {
    return columnOf<number | null>(this.#sql, "SELECT MIN(due_at) FROM tokens WHERE due_at IS NOT NULL")[0] ?? null;
  }

  /**
   * At most `limit` tokens that something is to be done about at `now` (ms), and since when. Nothing is ever done about those
   * that were tampered with.
   */
  dueTokens(now: number, limit: number): { readonly token: TeamToken; readonly dueAt: number }[] {
    const { good, tampered } = this.#tokens.judged("WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, limit);
    for (const { token_id: tokenId } of tampered) this.setDue(tokenId, null);
    return good.map((row) => ({ token: storedJson<TeamToken>(row.record), dueAt: row.due_at ?? now }));
  }

  /** Deletes tokens. */
  removeTokens(tokenIds: readonly string[]): void {
    for (const tokenId of tokenIds) {
      this.#tokens.delete(tokenId);
      this.#sql.exec("DELETE FROM notices WHERE token_id = ?", tokenId);
    }
    this.#changed(tokenIds);
  }

  /** Deletes the team but keeps the note that the organization has to be notified. */
  end(): void {
    this.#sql.exec("DELETE FROM tokens");
    this.#sql.exec("DELETE FROM unsent");
    this.#sql.exec("DELETE FROM notices");
    this.#sql.exec("UPDATE team SET ended = 1, revision = revision + 1");
  }

  /** The team, deleted or not, and how often it has changed. Null when it was tampered with. */
  latest(): Pick<TeamState, "ended" | "revision" | "team"> | null {
    const row = this.#teams.find(1);
    return row && stateOf(row);
  }

  /** True while the organization has to be notified of something. */
  get hasUnsent(): boolean {
    return this.#teams.count("WHERE revision > known_revision") > 0;
  }

  /** What the organization has to be notified of, or null. */
  unsent(): TeamState | null {
    const row = this.#teams.find(1);
    if (!row || row.revision <= row.known_revision) return null;
    return { ...stateOf(row), tokens: this.#unsentTokens(), unregistered: row.known_revision === 0 };
  }

  /** The organization knows the state as of `revision`. */
  sent(revision: number): void {
    this.#sql.exec("UPDATE team SET known_revision = MAX(known_revision, ?)", revision);
    this.#sql.exec("DELETE FROM unsent WHERE revision <= ?", revision);
  }

  /**
   * The organization has lost the team, or knows it otherwise than it is: all of it is to be taken in again.
   *
   * @param knownRevision what the organization thinks that it knows; the team goes on after it.
   */
  forgotten(knownRevision: number): void {
    this.#sql.exec("UPDATE team SET revision = MAX(revision, ?) + 1, known_revision = 0", knownRevision);
    this.#sql.exec(
      "INSERT OR REPLACE INTO unsent (token_id, revision) SELECT token_id, team.revision FROM tokens, team",
    );
  }

  /** Writes a token, with `columns` in the place of what they were. */
  #changeToken(token: TeamToken, columns: Partial<TokenRow>): void {
    const row = this.#tokens.find(token.tokenId);
    if (row) this.#tokens.put({ ...row, ...columns, record: JSON.stringify(token) });
    this.#changed([token.tokenId]);
  }

  #token(column: "slot" | "token_id" | "verifier", value: string | ArrayBuffer): StoredToken | null {
    const [row] = this.#tokens.list(`WHERE ${column} = ?`, value);
    if (!row) return null;
    return {
      token: storedJson<TeamToken>(row.record),
      verifier: new Uint8Array(row.verifier),
      current: row.slot !== null,
      replay: row.replay && new Uint8Array(row.replay),
    };
  }

  #unsentTokens(): TeamState["tokens"] {
    const unsent = columnOf<string>(this.#sql, "SELECT token_id FROM unsent");
    return unsent.map((tokenId) => ({ tokenId, token: this.token(tokenId)?.token ?? null }));
  }

  /** Records that the organization has to be notified of these tokens. */
  #changed(tokenIds: readonly string[]): void {
    this.#sql.exec("UPDATE team SET revision = revision + 1");
    for (const tokenId of tokenIds) {
      this.#sql.exec("INSERT OR REPLACE INTO unsent (token_id, revision) SELECT ?, revision FROM team", tokenId);
    }
  }
}

function stateOf({ record, revision, ended }: TeamRow): Pick<TeamState, "ended" | "revision" | "team"> {
  return { team: storedJson<TeamRecord>(record), revision, ended: ended !== 0 };
}

function slotOf(description: string | null): string {
  return description === null ? "" : `=${description}`;
}
