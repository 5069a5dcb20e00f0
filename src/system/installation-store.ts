import type { SnapshotParts } from "./snapshot.ts";

/** The table of what exists once in an installation: one row. */
export const INSTALLATION_TABLE = `
  CREATE TABLE installation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    cluster_id TEXT NOT NULL,
    sealed_key_ring TEXT,
    longest_ttl INTEGER NOT NULL
  );
`;

interface InstallationRow extends Record<string, SqlStorageValue> {
  cluster_id: string;
  sealed_key_ring: string | null;
  /** Seconds; 0 until a mount is changed. */
  longest_ttl: number;
}

/** Reads and writes what exists once in an installation. */
export class InstallationStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Writes the row of a new installation, which has no keys yet. */
  create(): void {
    this.#sql.exec("INSERT INTO installation (id, cluster_id, longest_ttl) VALUES (1, ?, 0)", crypto.randomUUID());
  }

  /** The wrapped keys, as the snapshot has them. */
  keys(): Omit<SnapshotParts["keys"], "restoring"> {
    const { cluster_id: clusterId, sealed_key_ring: sealedKeyRing } = this.#row();
    return { clusterId, sealedKeyRing };
  }

  /** The wrapped key ring; null until the installation is initialised. */
  get sealedKeyRing(): string | null {
    return this.#row().sealed_key_ring;
  }

  /** Stores the wrapped key ring of a new installation. */
  writeKeyRing(sealed: string): void {
    this.#sql.exec("UPDATE installation SET sealed_key_ring = ?", sealed);
  }

  /** Replaces the wrapped key ring `from` by `to`. False, with nothing written, when the stored one is not `from`. */
  replaceKeyRing(from: string, to: string): boolean {
    const written = this.#sql.exec("UPDATE installation SET sealed_key_ring = ? WHERE sealed_key_ring = ?", to, from);
    return written.rowsWritten > 0;
  }

  /** The longest TTL, in seconds, that any mount has had since its first change; 0 before. */
  get longestTtl(): number {
    return this.#row().longest_ttl;
  }

  /** Records that a mount gives tokens a TTL of `seconds`. */
  noteTtl(seconds: number): void {
    this.#sql.exec("UPDATE installation SET longest_ttl = MAX(longest_ttl, ?)", seconds);
  }

  #row(): InstallationRow {
    return this.#sql.exec<InstallationRow>("SELECT * FROM installation").one();
  }
}
