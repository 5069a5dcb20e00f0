import type { Ms } from "../base/clock.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { blobsOf, SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf, type Migration, storedJson, type Tables } from "../storage/tables.ts";
import { type AgedTerm, termsAbout } from "../system/aged-terms.ts";
import { nextDueAt } from "./notices/notice-times.ts";
import type { NewTeamTokenRecord, TeamRecord, TeamSettings, TeamState, TeamToken, TeamTokenEnd } from "./record.ts";

/** Ended tokens of a team that are recorded. */
const MAX_ENDED_TOKENS = 1000;

export const TEAM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the team, its tokens, what the organization has to be notified of, and notices of tokens that end",
    // The outbox: revision > known_revision while the organization must be updated, and unsent has the ids of changed
    // tokens. A token without a row in tokens was deleted. The slot makes descriptions unique: "" for the token without
    // a description, "=" and the description for others, NULL for a token that was replaced by a rotation.
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
  {
    version: 2,
    description: "tokens that ended",
    // Without seals: no row decides about access.
    sql: `
      CREATE TABLE ended (
        verifier BLOB PRIMARY KEY,
        record TEXT NOT NULL,
        ended_at INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX ended_by_time ON ended (ended_at);
    `,
    readableFrom: 1,
  },
];

type TeamRow = { id: number; record: string; revision: number; known_revision: number; ended: number };

interface TokenRow extends Record<string, SqlStorageValue> {
  token_id: string;
  record: string;
  verifier: ArrayBuffer;
  slot: string | null;
  replay: ArrayBuffer | null;
  /** When a notice or the deletion of the token is due; null: never. */
  due_at: Ms | null;
}

const TEAM: TableShape = { table: "team", kind: "team", key: ["id"], sealed: ["record"] };
const TOKEN: TableShape = {
  table: "tokens",
  kind: "team token",
  key: ["token_id"],
  sealed: ["verifier", "slot", "record"],
  values: ({ replay }) => blobsOf([replay]),
};

interface StoredToken {
  readonly token: TeamToken;
  readonly verifier: Uint8Array;
  /** False after the token was replaced by a rotation. */
  readonly current: boolean;
  /** The sealed text of the new token after a rotation, for a repeat of the request; null if it can't be repeated. */
  readonly replay: Uint8Array | null;
}

/**
 * The rows of one team. Every write is a change that the organization must be notified of. Rows that were tampered with
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

  /** False before the team is created, and after all rows were deleted. */
  get exists(): boolean {
    return this.#sql.exist;
  }

  /** The team; null after its deletion. */
  team(): TeamRecord | null {
    const state = this.latest();
    return state && !state.ended ? state.team : null;
  }

  /** The terms of `aged` under which tokens may be hashed. */
  termsOfTokens(aged: readonly AgedTerm[]): number[] {
    if (aged.length === 0) return [];
    const records = columnOf<string>(this.#sql, "SELECT record FROM tokens");
    return records.flatMap((record) => termsAbout(aged, storedJson<TeamToken>(record).createdAt));
  }

  /** @param which the id of a token (`at-…`), a kind of organization token, or "": the token without a description. */
  token(which: string): StoredToken | null {
    return this.#token(which.startsWith("at-") ? "token_id" : "slot", which);
  }

  /** The token whose place a new token takes: of its kind, or with its description. */
  inSlotOf(token: TeamToken): StoredToken | null {
    return this.#token("slot", slotOf(token));
  }

  tokenOf(verifier: Uint8Array): StoredToken | null {
    return this.#token("verifier", verifier.slice().buffer);
  }

  countTokens(): number {
    return this.#tokens.count();
  }

  create(team: TeamRecord): void {
    this.#teams.put({ id: 1, record: JSON.stringify(team), revision: 1, known_revision: 0, ended: 0 });
  }

  update(settings: Partial<TeamSettings>): void {
    const row = this.#teams.find(1);
    if (!row) return;
    const record = JSON.stringify({ ...storedJson<TeamRecord>(row.record), ...settings });
    this.#teams.put({ ...row, record, revision: row.revision + 1 });
  }

  /** Adds a token. Replaces a token with the same description, which can only be one that was tampered with. */
  addToken({ verifier, ...token }: NewTeamTokenRecord): void {
    const slot = slotOf(token);
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

  updateToken(token: TeamToken, columns: Partial<TokenRow> = {}): void {
    const row = this.#tokens.find(token.tokenId);
    if (row) this.#tokens.put({ ...row, ...columns, record: JSON.stringify(token) });
    this.#changed([token.tokenId]);
  }

  /** Marks a token as replaced at `now`, which frees its description. */
  retireToken(token: TeamToken, replay: Uint8Array | null, now: Ms): void {
    const due_at = nextDueAt(token, now);
    this.updateToken(token, { slot: null, replay: replay?.slice().buffer ?? null, due_at });
  }

  /** Sets when a notice or the deletion of a token is due; null: never. */
  setDue(tokenId: string, dueAt: Ms | null): void {
    this.#sql.exec("UPDATE tokens SET due_at = ? WHERE token_id = ?", dueAt, tokenId);
  }

  /** The earliest time at which a token is due; null: never. */
  nextDue(): Ms | null {
    return columnOf<number | null>(this.#sql, "SELECT MIN(due_at) FROM tokens WHERE due_at IS NOT NULL")[0] ?? null;
  }

  /** At most `limit` tokens that are due at `now`. Tokens that were tampered with are never due again. */
  dueTokens(now: Ms, limit: number): { readonly token: TeamToken; readonly dueAt: Ms }[] {
    const { good, tampered } = this.#tokens.judged("WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, limit);
    for (const { token_id: tokenId } of tampered) this.setDue(tokenId, null);
    return good.map((row) => ({ token: storedJson<TeamToken>(row.record), dueAt: row.due_at ?? now }));
  }

  /** Deletes tokens, and records how they ended. @param end null: not known */
  removeTokens(tokenIds: readonly string[], end: TeamTokenEnd | null): void {
    for (const tokenId of tokenIds) {
      if (end) this.#recordEnd(tokenId, end);
      this.#tokens.delete(tokenId);
      this.#sql.exec("DELETE FROM notices WHERE token_id = ?", tokenId);
    }
    this.#changed(tokenIds);
  }

  /** How a token ended that is stored still, by a rotation or by its time; null for one that has no such end. */
  endOf({ rotatedAt, rotatedTo, expiresAt }: TeamToken, now: Ms): TeamTokenEnd | null {
    const at = expiresAt ?? rotatedAt;
    if (at === undefined || at > now) return null;
    if (rotatedAt === undefined) return { how: "expired", at, by: null };
    const by = rotatedTo === undefined ? null : (this.token(rotatedTo)?.token.createdBy ?? null);
    return { how: "rotated", at, by };
  }

  /** The recorded token with this verifier that ended. */
  ended(verifier: Uint8Array): { readonly token: TeamToken; readonly end: TeamTokenEnd } | null {
    const query = "SELECT record FROM ended WHERE verifier = ?";
    const [record] = columnOf<string>(this.#sql, query, verifier.slice().buffer);
    return record === undefined ? null : storedJson(record);
  }

  /** Keeps the last `MAX_ENDED_TOKENS` of the team. */
  #recordEnd(tokenId: string, end: TeamTokenEnd): void {
    const stored = this.token(tokenId);
    if (!stored) return;
    const { verifier, token } = stored;
    const insert = "INSERT OR REPLACE INTO ended (verifier, record, ended_at) VALUES (?, ?, ?)";
    this.#sql.exec(insert, verifier.slice().buffer, JSON.stringify({ token, end }), end.at);
    const older = "SELECT verifier FROM ended ORDER BY ended_at DESC, verifier LIMIT -1 OFFSET ?";
    this.#sql.exec(`DELETE FROM ended WHERE verifier IN (${older})`, MAX_ENDED_TOKENS);
  }

  /** Deletes the team, except for what is needed to notify the organization. */
  end(): void {
    for (const table of ["tokens", "unsent", "notices", "ended"]) this.#sql.exec(`DELETE FROM ${table}`);
    this.#sql.exec("UPDATE team SET ended = 1, revision = revision + 1");
  }

  /** The state of the team, even after its deletion; null for a team that was tampered with. */
  latest() {
    const row = this.#teams.find(1);
    return row && stateOf(row);
  }

  /** True from the first answer of the organization. */
  get isRegistered(): boolean {
    return this.#teams.count("WHERE known_revision > 0 AND ended = 0") > 0;
  }

  get hasUnsent(): boolean {
    return this.#teams.count("WHERE revision > known_revision") > 0;
  }

  unsent(): TeamState | null {
    const row = this.#teams.find(1);
    if (!row || row.revision <= row.known_revision) return null;
    const tokenIds = columnOf<string>(this.#sql, "SELECT token_id FROM unsent");
    const tokens = tokenIds.map((tokenId) => ({ tokenId, token: this.token(tokenId)?.token ?? null }));
    return { ...stateOf(row), tokens, unregistered: row.known_revision === 0 };
  }

  /** The organization has the state of this revision. */
  sent(revision: number): void {
    this.#sql.exec("UPDATE team SET known_revision = MAX(known_revision, ?)", revision);
    this.#sql.exec("DELETE FROM unsent WHERE revision <= ?", revision);
  }

  /**
   * The organization has lost its copy, or has a different copy with the revision `knownRevision`. The whole team is
   * sent again with a greater revision.
   */
  forgotten(knownRevision: number): void {
    this.#sql.exec("UPDATE team SET revision = MAX(revision, ?) + 1, known_revision = 0", knownRevision);
    this.#sql.exec(
      "INSERT OR REPLACE INTO unsent (token_id, revision) SELECT token_id, team.revision FROM tokens, team",
    );
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

  /** The organization must be notified of these tokens. */
  #changed(tokenIds: readonly string[]): void {
    this.#sql.exec("UPDATE team SET revision = revision + 1");
    for (const tokenId of tokenIds) {
      this.#sql.exec("INSERT OR REPLACE INTO unsent (token_id, revision) SELECT ?, revision FROM team", tokenId);
    }
  }
}

function stateOf({ record, revision, ended }: TeamRow) {
  return { team: storedJson<TeamRecord>(record), revision, ended: ended !== 0 };
}

/** Unique in the team: "" for the token without a description. That of an organization's token is its kind. */
function slotOf({ kind, description }: TeamToken): string {
  return kind ?? (description === null ? "" : `=${description}`);
}
