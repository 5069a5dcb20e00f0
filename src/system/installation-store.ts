import type { SnapshotParts } from "./snapshot.ts";

interface InstallationRow extends Record<string, SqlStorageValue> {
  cluster_id: string;
  sealed_key_ring: string | null;
  /** Seconds; 0 while no mount was written since this is noted. */
  longest_ttl: number;
}

/** The table of what there is once in an installation: one row. */
export class InstallationStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Writes the row of a new installation, which has no keys yet. */
  create(): void {
    this.#sql.exec("INSERT INTO installation (id, cluster_id) VALUES (1, ?)", crypto.randomUUID());
  }

  /** What isolates are told of the keys. */
  keys(): SnapshotParts["keys"] {
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

  /** The longest life, in seconds, that a mount ever gave; 0 while no mount was written since this is noted. */
  get longestTtl(): number {
    return this.#row().longest_ttl;
  }

  /** Notes that a mount gives tokens a life of `seconds`. */
  noteTtl(seconds: number): void {
    this.#sql.exec("UPDATE installation SET longest_ttl = MAX(longest_ttl, ?)", seconds);
  }

  #row(): InstallationRow {
    return this.#sql.exec<InstallationRow>("SELECT * FROM installation").one();
  }
}
