import type { Ms, Seconds } from "../base/clock.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { blobsOf, SealedTable, SealedValues, type TableShape, valuesTable } from "../storage/sealed-table.ts";
import { columnOf, type Migration, type Sql, storedJson } from "../storage/tables.ts";
import type { IssuerRole, KeyConfig } from "./key-and-role-config.ts";
import type { SealedKey, SealedKeyPair } from "./key-pair.ts";

export const ISSUER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the issuer, its named keys with their versions, and its roles",
    sql: `
      CREATE TABLE issuer (id INTEGER PRIMARY KEY CHECK (id = 1), url TEXT NOT NULL, revision TEXT NOT NULL, seal BLOB);
      CREATE TABLE keys (name TEXT PRIMARY KEY, config TEXT NOT NULL, next_rotation INTEGER NOT NULL, seal BLOB) WITHOUT ROWID;
      CREATE TABLE key_versions (
        kid TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('signing', 'next', 'retired')),
        public_key BLOB NOT NULL,
        private_key BLOB,
        expires_at INTEGER,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE INDEX key_versions_by_name ON key_versions (name, state);
      ${valuesTable("roles")}
    `,
  },
];

type IssuerRow = { id: number; url: string; revision: string };
type KeyRow = { name: string; config: string; next_rotation: number };
type VersionRow = {
  kid: string;
  name: string;
  state: VersionState;
  public_key: ArrayBuffer;
  private_key: ArrayBuffer | null;
  expires_at: Ms | null;
};
type VersionState = "signing" | "next" | "retired";

interface NamedKey {
  readonly name: string;
  readonly config: KeyConfig;
  readonly nextRotation: Ms;
}

const ISSUER: TableShape = { table: "issuer", kind: "issuer", key: ["id"], sealed: ["url"] };
const KEY: TableShape = { table: "keys", kind: "issuer key", key: ["name"], sealed: ["config", "next_rotation"] };
const VERSION: TableShape = {
  table: "key_versions",
  kind: "issuer key version",
  key: ["kid"],
  sealed: ["name", "state", "public_key", "private_key", "expires_at"],
  values: ({ public_key, private_key }) => blobsOf([public_key, private_key]),
};

/** The tables of the issuer. Tampered rows count as absent. */
export class IssuerStore {
  readonly #sql: Sql;
  readonly #issuer: SealedTable<IssuerRow>;
  readonly #keys: SealedTable<KeyRow>;
  readonly #versions: SealedTable<VersionRow>;
  readonly roles: SealedValues<IssuerRole>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#issuer = new SealedTable(sql, seals, ISSUER);
    this.#keys = new SealedTable(sql, seals, KEY);
    this.#versions = new SealedTable(sql, seals, VERSION);
    this.roles = new SealedValues(sql, seals, "roles", "issuer role");
  }

  /** Returns the configured issuer and the revision; both "" before the first write. null when it was tampered with. */
  issuer(): { readonly url: string; readonly revision: string } | null {
    const row = this.#issuer.find(1);
    return row ?? (this.#issuer.count() === 0 ? { url: "", revision: "" } : null);
  }

  setIssuer(url: string): void {
    this.#issuer.put({ id: 1, url, revision: crypto.randomUUID() });
  }

  /** Has isolates read the published keys again. The revision is random: a counter would repeat after a restore. */
  changed(): void {
    const issuer = this.issuer();
    if (issuer) this.setIssuer(issuer.url);
  }

  key(name: string): NamedKey | null {
    const row = this.#keys.find(name);
    return row && keyOfRow(row);
  }

  keys(): NamedKey[] {
    return this.#keys.list("ORDER BY name").map(keyOfRow);
  }

  writeKey(name: string, config: KeyConfig, nextRotation: Ms): void {
    this.#keys.put({ name, config: JSON.stringify(config), next_rotation: nextRotation });
    this.changed();
  }

  /** Deletes a key with all its versions: the tokens that it signed no longer verify. */
  deleteKey(name: string): void {
    this.#sql.exec("DELETE FROM key_versions WHERE name = ?", name);
    this.#keys.delete(name);
    this.changed();
  }

  addVersion(name: string, state: "signing" | "next", { kid, publicKey, privateKey }: SealedKeyPair): void {
    const [public_key, private_key] = [publicKey.slice().buffer, privateKey.slice().buffer];
    this.#versions.put({ kid, name, state, public_key, private_key, expires_at: null });
  }

  /** Retires the signing version of a key: deletes its private half and publishes its public half until `expiresAt`. */
  retire(name: string, expiresAt: Ms): void {
    for (const version of this.#versionsOf(name, "signing")) {
      this.#versions.put({ ...version, state: "retired", private_key: null, expires_at: expiresAt });
    }
  }

  promote(name: string): void {
    for (const version of this.#versionsOf(name, "next")) this.#versions.put({ ...version, state: "signing" });
  }

  dropNext(name: string): void {
    this.#sql.exec("DELETE FROM key_versions WHERE name = ? AND state = 'next'", name);
  }

  /** Deletes versions whose verification TTL is over. @returns true when there were any. */
  dropExpired(now: Ms): boolean {
    return this.#sql.exec("DELETE FROM key_versions WHERE expires_at <= ?", now).rowsWritten > 0;
  }

  countRetired(name: string): number {
    return this.#versions.count("WHERE name = ? AND state = 'retired'", name);
  }

  /** Returns the private half of the signing version; null without one. */
  signing(name: string): SealedKey | null {
    const [version] = this.#versionsOf(name, "signing");
    return version?.private_key ? { kid: version.kid, sealed: new Uint8Array(version.private_key) } : null;
  }

  publicKeys(): SealedKey[] {
    const versions = this.#versions.list("ORDER BY kid");
    return versions.map(({ kid, public_key }) => ({ kid, sealed: new Uint8Array(public_key) }));
  }

  firstExpiry(): Ms | null {
    const first = "SELECT expires_at FROM key_versions WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1";
    return columnOf<number>(this.#sql, first)[0] ?? null;
  }

  /** Returns the names of the roles that use a key, and their longest token TTL. */
  rolesOf(key: string): { readonly names: string[]; readonly longestTtl: Seconds } {
    const query = "SELECT name, value ->> '$.ttl' AS ttl FROM roles WHERE value ->> '$.key' = ? ORDER BY name";
    const rows = this.#sql.exec<{ name: string; ttl: Seconds }>(query, key).toArray();
    return { names: rows.map(({ name }) => name), longestTtl: Math.max(0, ...rows.map(({ ttl }) => Number(ttl))) };
  }

  #versionsOf(name: string, state: VersionState): VersionRow[] {
    return this.#versions.list("WHERE name = ? AND state = ?", name, state);
  }
}

function keyOfRow({ name, config, next_rotation: nextRotation }: KeyRow): NamedKey {
  return { name, config: storedJson<KeyConfig>(config), nextRotation };
}
