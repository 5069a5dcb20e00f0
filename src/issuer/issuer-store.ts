import type { RowSeals } from "../storage/row-seals.ts";
import { type Migration, Schema } from "../storage/schema.ts";
import { checkSeals, type SealPosition, type SealStep } from "../storage/seal-check.ts";
import { blobsOf, SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
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
  {
    version: 2,
    description: "seals of the issuer, its keys with their versions, and its roles",
    sql: ["issuer", "keys", "key_versions", "roles"]
      .map((table) => `ALTER TABLE ${table} ADD COLUMN seal BLOB;`)
      .join("\n"),
  },
];

interface IssuerRow extends Record<string, SqlStorageValue> {
  id: number;
  url: string;
  revision: number;
  epoch: string;
}

interface KeyRow extends Record<string, SqlStorageValue> {
  name: string;
  config: string;
  next_rotation: number;
}

interface VersionRow extends Record<string, SqlStorageValue> {
  kid: string;
  name: string;
  state: VersionState;
  public_key: ArrayBuffer;
  private_key: ArrayBuffer | null;
  expires_at: number | null;
}

interface RoleRow extends Record<string, SqlStorageValue> {
  name: string;
  role: string;
}

type VersionState = "signing" | "next" | "retired";

const ISSUER: TableShape = { table: "issuer", kind: "issuer", key: ["id"], sealed: ["url"] };
const KEY: TableShape = { table: "keys", kind: "issuer key", key: ["name"], sealed: ["config"] };
const VERSION: TableShape = {
  table: "key_versions",
  kind: "issuer key version",
  key: ["kid"],
  sealed: ["name", "state", "public_key", "private_key", "expires_at"],
  values: ({ public_key, private_key }) => blobsOf([public_key, private_key]),
};
const ROLE: TableShape = { table: "roles", kind: "issuer role", key: ["name"], sealed: ["role"] };

/** Tables of the issuer. Times in ms. Methods that read need `exists`. Rows that were tampered with count as absent. */
export class IssuerStore {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;
  readonly #issuer: SealedTable<IssuerRow>;
  readonly #keys: SealedTable<KeyRow>;
  readonly #versions: SealedTable<VersionRow>;
  readonly #roles: SealedTable<RoleRow>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.#schema = new Schema(sql, ISSUER_MIGRATIONS);
    this.#issuer = new SealedTable(sql, seals, ISSUER);
    this.#keys = new SealedTable(sql, seals, KEY);
    this.#versions = new SealedTable(sql, seals, VERSION);
    this.#roles = new SealedTable(sql, seals, ROLE);
  }

  get exists(): boolean {
    return this.#schema.exists;
  }

  create(): void {
    if (this.#schema.exists) return;
    this.#schema.create();
    // The epoch distinguishes this history from another one after a restore to an earlier state.
    this.#sql.exec("INSERT INTO issuer (id, url, revision, epoch) VALUES (1, '', 1, ?)", crypto.randomUUID());
    this.#issuer.seal(this.#issuerRow());
  }

  /** Checks the seals of some rows. */
  checkSeals(from: SealPosition | null): SealStep {
    return checkSeals([this.#issuer, this.#keys, this.#versions, this.#roles], from);
  }

  /** The configured issuer, and the revision of what is published. Null when it was tampered with. */
  issuer(): { readonly url: string; readonly revision: string } | null {
    const row = this.#issuerRow();
    return this.#issuer.admits(row) ? { url: row.url, revision: `${row.epoch}.${row.revision}` } : null;
  }

  setIssuer(url: string): void {
    this.#sql.exec("UPDATE issuer SET url = ?", url);
    this.#issuer.seal(this.#issuerRow());
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
    const row = this.#sql.exec<WithSeal<KeyRow>>("SELECT * FROM keys WHERE name = ?", name).toArray()[0];
    return row && this.#keys.admits(row) ? keyOfRow(row) : null;
  }

  /** Names and settings of all keys, by name. */
  keys(): { readonly name: string; readonly config: KeyConfig; readonly nextRotation: number }[] {
    const rows = this.#sql.exec<WithSeal<KeyRow>>("SELECT * FROM keys ORDER BY name").toArray();
    return this.#keys.admitted(rows).map(keyOfRow);
  }

  writeKey(name: string, config: KeyConfig, nextRotation: number): void {
    const row = { name, config: JSON.stringify(config), next_rotation: nextRotation };
    this.#sql.exec(
      "INSERT OR REPLACE INTO keys (name, config, next_rotation, seal) VALUES (?, ?, ?, ?)",
      name,
      row.config,
      nextRotation,
      this.#keys.sealOf(row),
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
    const query = "SELECT * FROM key_versions WHERE kid = ?";
    this.#versions.seal(this.#sql.exec<WithSeal<VersionRow>>(query, pair.kid).one());
  }

  /** Ends the signing of a key's present version; its public half stays until `expiresAt`. */
  retire(name: string, expiresAt: number): void {
    for (const version of this.#versionsOf(name, "signing")) {
      this.#changeVersion({ ...version, state: "retired", private_key: null, expires_at: expiresAt });
    }
  }

  /** The announced next version signs from now on. */
  promote(name: string): void {
    for (const version of this.#versionsOf(name, "next")) this.#changeVersion({ ...version, state: "signing" });
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
    const [version] = this.#versionsOf(name, "signing");
    return version?.private_key ? { kid: version.kid, sealed: new Uint8Array(version.private_key) } : null;
  }

  /** All public halves, those of coming versions included. */
  publicKeys(): SealedKey[] {
    const rows = this.#sql.exec<WithSeal<VersionRow>>("SELECT * FROM key_versions ORDER BY kid").toArray();
    return this.#versions.admitted(rows).map(({ kid, public_key }) => ({ kid, sealed: new Uint8Array(public_key) }));
  }

  /** When something is due next (ms), or null. */
  nextDueAt(): number | null {
    const { expires } = this.#sql
      .exec<{ expires: number | null }>("SELECT MIN(expires_at) AS expires FROM key_versions")
      .one();
    const due = this.keys().map(({ nextRotation }) => nextRotation);
    if (expires !== null) due.push(expires);
    return due.length > 0 ? Math.min(...due) : null;
  }

  role(name: string): IssuerRole | null {
    const row = this.#sql.exec<WithSeal<RoleRow>>("SELECT * FROM roles WHERE name = ?", name).toArray()[0];
    return row && this.#roles.admits(row) ? (JSON.parse(row.role) as IssuerRole) : null;
  }

  writeRole(name: string, role: IssuerRole): void {
    const row = { name, role: JSON.stringify(role) };
    const seal = this.#roles.sealOf(row);
    this.#sql.exec("INSERT OR REPLACE INTO roles (name, role, seal) VALUES (?, ?, ?)", name, row.role, seal);
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

  #issuerRow(): WithSeal<IssuerRow> {
    return this.#sql.exec<WithSeal<IssuerRow>>("SELECT * FROM issuer").one();
  }

  #versionsOf(name: string, state: VersionState): WithSeal<VersionRow>[] {
    const query = "SELECT * FROM key_versions WHERE name = ? AND state = ?";
    return this.#versions.admitted(this.#sql.exec<WithSeal<VersionRow>>(query, name, state).toArray());
  }

  #changeVersion(version: WithSeal<VersionRow>): void {
    this.#sql.exec(
      "UPDATE key_versions SET state = ?, private_key = ?, expires_at = ?, seal = ? WHERE kid = ?",
      version.state,
      version.private_key,
      version.expires_at,
      this.#versions.sealOf(version),
      version.kid,
    );
  }
}

function keyOfRow({ name, config, next_rotation: nextRotation }: KeyRow) {
  return { name, config: JSON.parse(config) as KeyConfig, nextRotation };
}
