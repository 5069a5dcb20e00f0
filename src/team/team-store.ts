import { nextDueAt } from "./notices/rules.ts";
import type { NewTeamTokenRecord, TeamRecord, TeamSettings, TeamState, TeamToken } from "./record.ts";

interface TeamRow extends Record<string, SqlStorageValue> {
  record: string;
  revision: number;
  known_revision: number;
  ended: number;
}

interface TokenRow extends Record<string, SqlStorageValue> {
  record: string;
  verifier: ArrayBuffer;
  slot: string | null;
  replay: ArrayBuffer | null;
}

/** A stored token. */
export interface StoredToken {
  readonly token: TeamToken;
  readonly verifier: Uint8Array;
  /** False once another token has taken over from this one. */
  readonly current: boolean;
  /** The sealed text of the token that took over, for a repeat of the rotation; null when there is none to repeat. */
  readonly replay: Uint8Array | null;
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
    return this.#token("verifier", verifier);
  }

  /** How many tokens there are. */
  countTokens(): number {
    return this.#sql.exec<{ count: number }>("SELECT COUNT(*) AS count FROM tokens").one().count;
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

  /** Stores a new token. No other token may have its description. */
  addToken({ verifier, ...token }: NewTeamTokenRecord): void {
    this.#sql.exec(
      "INSERT INTO tokens (token_id, verifier, slot, record, due_at) VALUES (?, ?, ?, ?, ?)",
      token.tokenId,
      verifier,
      slotOf(token.description ?? null),
      JSON.stringify(token),
      nextDueAt(token, token.createdAt),
    );
    this.#changed([token.tokenId]);
  }

  /** Changes a token. */
  updateToken(token: TeamToken): void {
    this.#sql.exec("UPDATE tokens SET record = ? WHERE token_id = ?", JSON.stringify(token), token.tokenId);
    this.#changed([token.tokenId]);
  }

  /** Changes a token that another takes over from at `now` (ms): its description is free for that. */
  retireToken(token: TeamToken, replay: Uint8Array | null, now: number): void {
    this.#sql.exec("UPDATE tokens SET slot = NULL, replay = ? WHERE token_id = ?", replay, token.tokenId);
    this.setDue(token.tokenId, nextDueAt(token, now));
    this.updateToken(token);
  }

  /** Notes when there is next something to do about a token (ms); null: never. */
  setDue(tokenId: string, dueAt: number | null): void {
    this.#sql.exec("UPDATE tokens SET due_at = ? WHERE token_id = ?", dueAt, tokenId);
  }

  /** When there is something to do about a token (ms); null: never. */
  nextDue(): number | null {
    const due = "SELECT due_at FROM tokens WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1";
    return this.#sql.exec<{ due_at: number }>(due).toArray()[0]?.due_at ?? null;
  }

  /** At most `limit` tokens that something is to be done about at `now` (ms), and since when. */
  dueTokens(now: number, limit: number): { readonly token: TeamToken; readonly dueAt: number }[] {
    return this.#sql
      .exec<{ record: string; due_at: number }>(
        "SELECT record, due_at FROM tokens WHERE due_at <= ? ORDER BY due_at LIMIT ?",
        now,
        limit,
      )
      .toArray()
      .map(({ record, due_at }) => ({ token: JSON.parse(record) as TeamToken, dueAt: due_at }));
  }

  /** Deletes tokens. */
  removeTokens(tokenIds: readonly string[]): void {
    for (const tokenId of tokenIds) {
      this.#sql.exec("DELETE FROM tokens WHERE token_id = ?", tokenId);
      this.#sql.exec("DELETE FROM notices WHERE token_id = ?", tokenId);
    }
    this.#changed(tokenIds);
  }

  /** Deletes the team but for the note that the organization has to hear of it. */
  end(): void {
    this.#sql.exec("DELETE FROM tokens");
    this.#sql.exec("DELETE FROM unsent");
    this.#sql.exec("DELETE FROM notices");
    this.#sql.exec("UPDATE team SET ended = 1, revision = revision + 1");
  }

  /** The team, deleted or not, and how often it has changed. */
  latest(): Pick<TeamState, "ended" | "revision" | "team"> {
    const { record, revision, ended } = this.#row();
    return { team: JSON.parse(record) as TeamRecord, revision, ended: ended !== 0 };
  }

  /** True while the organization has to hear of something. */
  get hasUnsent(): boolean {
    const { revision, known_revision } = this.#row();
    return revision > known_revision;
  }

  /** What the organization has to hear of, or null when it knows everything. */
  unsent(): TeamState | null {
    if (!this.hasUnsent) return null;
    return { ...this.latest(), tokens: this.#unsentTokens(), unregistered: this.#row().known_revision === 0 };
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

  #token(column: "slot" | "token_id" | "verifier", value: string | Uint8Array): StoredToken | null {
    const row = this.#sql
      .exec<TokenRow>(`SELECT record, verifier, slot, replay FROM tokens WHERE ${column} = ?`, value)
      .toArray()[0];
    if (!row) return null;
    return {
      token: JSON.parse(row.record) as TeamToken,
      verifier: new Uint8Array(row.verifier),
      current: row.slot !== null,
      replay: row.replay && new Uint8Array(row.replay),
    };
  }

  #unsentTokens(): TeamState["tokens"] {
    return this.#sql
      .exec<{ token_id: string; record: string | null }>(
        "SELECT u.token_id, t.record FROM unsent u LEFT JOIN tokens t ON t.token_id = u.token_id",
      )
      .toArray()
      .map(({ token_id, record }) => ({
        tokenId: token_id,
        token: record === null ? null : (JSON.parse(record) as TeamToken),
      }));
  }

  /** Notes that the organization has to hear of these tokens. */
  #changed(tokenIds: readonly string[]): void {
    this.#sql.exec("UPDATE team SET revision = revision + 1");
    for (const tokenId of tokenIds) {
      this.#sql.exec("INSERT OR REPLACE INTO unsent (token_id, revision) SELECT ?, revision FROM team", tokenId);
    }
  }

  #row(): TeamRow {
    return this.#sql.exec<TeamRow>("SELECT record, revision, known_revision, ended FROM team").one();
  }
}

function slotOf(description: string | null): string {
  return description === null ? "" : `=${description}`;
}
