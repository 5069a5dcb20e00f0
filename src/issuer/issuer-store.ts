import { type Migration, Schema } from "../storage/schema.ts";
import type { IssuerRole, KeyConfig, SealedKey, SealedKeyPair } from "./model.ts";

export const ISSUER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the issuer, its named keys with their versions, and its roles",
    sql: `
      CREATE TABLE issuer (id INTEGER PRIMARY KEY CHECK (id = 1), url TEXT NOT NULL, revision INTEGER NOT NULL, epoch TEXT NOT NULL);
      CREATE TABLE keys (name TEXT PRIMARY KEY, config TEXT NOT NULL, next_rotation INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE key_versions (
        kid TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('signing', 'next', 'retired')),
        public_key BLOB NOT NULL,
        private_key BLOB,
        expires_at INTEGER
      ) WITHOUT ROWID;
      CREATE INDEX key_versions_by_name ON key_versions (name, state);
      CREATE TABLE roles (name TEXT PRIMARY KEY, role TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
];

/** Tables of the issuer. Times in ms. Methods that read need `exists`. */
export class IssuerStore {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#schema = new Schema(sql, ISSUER_MIGRATIONS);
  }

  get exists(): boolean {
    return this.#schema.exists;
  }

  create(): void {
    if (this.#schema.exists) return;
    this.#schema.create();
    // The epoch distinguishes this history from another one after a restore to an earlier state.
    this.#sql.exec("INSERT INTO issuer (id, url, revision, epoch) VALUES (1, '', 1, ?)", crypto.randomUUID());
  }

  /** The configured issuer, and the revision of what is published. */
  issuer(): { readonly url: string; readonly revision: string } {
    const row = this.#sql
      .exec<{ url: string; revision: number; epoch: string }>("SELECT url, revision, epoch FROM issuer")
      .one();
    return { url: row.url, revision: `${row.epoch}.${row.revision}` };
  }

  setIssuer(url: string): void {
    this.#sql.exec("UPDATE issuer SET url = ?", url);
    this.changed();
  }

  /**
   * Makes isolates read the published keys again. A new epoch each time: a counter would repeat its values after a
   * restore.
   */
  changed(): void {
    this.#sql.exec("UPDATE issuer SET revision = revision + 1, epoch = ?", crypto.randomUUID());
  }

  key(name: string): { readonly config: KeyConfig; readonly nextRotation: number } | null {
    const row = this.#sql
      .exec<{ config: string; next_rotation: number }>("SELECT config, next_rotation FROM keys WHERE name = ?", name)
      .toArray()[0];
    return row ? { config: JSON.parse(row.config) as KeyConfig, nextRotation: row.next_rotation } : null;
  }

  /** Names and settings of all keys, by name. */
  keys(): { readonly name: string; readonly config: KeyConfig; readonly nextRotation: number }[] {
    return this.#sql
      .exec<{ name: string; config: string; next_rotation: number }>("SELECT * FROM keys ORDER BY name")
      .toArray()
      .map(({ name, config, next_rotation: nextRotation }) => ({
        name,
        config: JSON.parse(config) as KeyConfig,
        nextRotation,
      }));
  }

  writeKey(name: string, config: KeyConfig, nextRotation: number): void {
    this.#sql.exec(
      "INSERT INTO keys (name, config, next_rotation) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET config = ?2, next_rotation = ?3",
      name,
      JSON.stringify(config),
      nextRotation,
    );
  }

  /** Deletes the key with all its versions: nothing that it signed verifies any more. */
  deleteKey(name: string): void {
    this.#sql.exec("DELETE FROM key_versions WHERE name = ?", name);
    this.#sql.exec("DELETE FROM keys WHERE name = ?", name);
  }

  addVersion(name: string, state: "signing" | "next", pair: SealedKeyPair): void {
    this.#sql.exec(
      "INSERT INTO key_versions (kid, name, state, public_key, private_key) VALUES (?, ?, ?, ?, ?)",
      pair.kid,
      name,
      state,
      pair.publicKey,
      pair.privateKey,
    );
  }

  /** Ends the signing of a key's present version; its public half stays until `expiresAt`. */
  retire(name: string, expiresAt: number): void {
    this.#sql.exec(
      "UPDATE key_versions SET state = 'retired', private_key = NULL, expires_at = ? WHERE name = ? AND state = 'signing'",
      expiresAt,
      name,
    );
  }

  /** The announced next version signs from now on. */
  promote(name: string): void {
    this.#sql.exec("UPDATE key_versions SET state = 'signing' WHERE name = ? AND state = 'next'", name);
  }

  dropNext(name: string): void {
    this.#sql.exec("DELETE FROM key_versions WHERE name = ? AND state = 'next'", name);
  }

  /** Drops public halves that nothing valid was signed with. */
  dropExpired(now: number): boolean {
    return this.#sql.exec("DELETE FROM key_versions WHERE expires_at <= ?", now).rowsWritten > 0;
  }

  countRetired(name: string): number {
    return this.#sql
      .exec<{ n: number }>("SELECT COUNT(*) AS n FROM key_versions WHERE name = ? AND state = 'retired'", name)
      .one().n;
  }

  /** The private half that signs now. */
  signing(name: string): SealedKey | null {
    const row = this.#sql
      .exec<{ kid: string; private_key: ArrayBuffer }>(
        "SELECT kid, private_key FROM key_versions WHERE name = ? AND state = 'signing'",
        name,
      )
      .toArray()[0];
    return row ? { kid: row.kid, sealed: new Uint8Array(row.private_key) } : null;
  }

  /** All public halves, those of coming versions included. */
  publicKeys(): SealedKey[] {
    return this.#sql
      .exec<{ kid: string; public_key: ArrayBuffer }>("SELECT kid, public_key FROM key_versions ORDER BY kid")
      .toArray()
      .map(({ kid, public_key }) => ({ kid, sealed: new Uint8Array(public_key) }));
  }

  /** When something is due next (ms), or null. */
  nextDueAt(): number | null {
    return this.#sql
      .exec<{ due: number | null }>(
        "SELECT MIN(due) AS due FROM (SELECT MIN(next_rotation) AS due FROM keys UNION ALL SELECT MIN(expires_at) FROM key_versions)",
      )
      .one().due;
  }

  role(name: string): IssuerRole | null {
    const row = this.#sql.exec<{ role: string }>("SELECT role FROM roles WHERE name = ?", name).toArray()[0];
    return row ? (JSON.parse(row.role) as IssuerRole) : null;
  }

  writeRole(name: string, role: IssuerRole): void {
    this.#sql.exec(
      "INSERT INTO roles (name, role) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET role = ?2",
      name,
      JSON.stringify(role),
    );
  }

  deleteRole(name: string): void {
    this.#sql.exec("DELETE FROM roles WHERE name = ?", name);
  }

  roleNames(): string[] {
    return this.#sql
      .exec<{ name: string }>("SELECT name FROM roles ORDER BY name")
      .toArray()
      .map(({ name }) => name);
  }

  /** Names of the roles that sign with a key, and seconds of their longest-lived tokens. */
  rolesOf(key: string): { readonly names: string[]; readonly longestTtl: number } {
    const rows = this.#sql
      .exec<{ name: string; ttl: number }>(
        "SELECT name, role ->> '$.ttl' AS ttl FROM roles WHERE role ->> '$.key' = ? ORDER BY name",
        key,
      )
      .toArray();
    return { names: rows.map(({ name }) => name), longestTtl: Math.max(0, ...rows.map(({ ttl }) => Number(ttl))) };
  }

  countRoles(): number {
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM roles").one().n;
  }
}
