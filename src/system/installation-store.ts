import type { Ms, Seconds } from "../base/clock.ts";
import { columnOf, type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

interface InstallationRow extends Record<string, SqlStorageValue> {
  cluster_id: string;
  sealed_key_ring: string | null;
  /** 0 until the first mount is written. */
  longest_ttl: Seconds;
}

const NO_INSTALLATION: InstallationRow = { cluster_id: "", sealed_key_ring: null, longest_ttl: 0 };

/** Reads and writes the values that exist once per installation. */
export class InstallationStore extends SystemStore {
  /** Writes the row of a new installation, with its wrapped key ring. */
  create(sealedKeyRing: string): void {
    const statement = "INSERT INTO installation (id, cluster_id, sealed_key_ring, longest_ttl) VALUES (1, ?, ?, 0)";
    this.sql.exec(statement, crypto.randomUUID(), sealedKeyRing);
    this.changed("keys");
  }

  keys() {
    const { cluster_id: clusterId, sealed_key_ring: sealedKeyRing } = this.#row();
    return { clusterId, sealedKeyRing };
  }

  /** The wrapped key ring; null until the installation is initialised. */
  get sealedKeyRing(): string | null {
    return this.#row().sealed_key_ring;
  }

  replaceKeyRing(from: string, to: string): boolean {
    if (this.sealedKeyRing !== from) return false;
    this.sql.exec("UPDATE installation SET sealed_key_ring = ?", to);
    this.changed("keys");
    return true;
  }

  /** The longest TTL that any mount has had; 0 before the first mount is written. */
  get longestTtl(): Seconds {
    return this.#row().longest_ttl;
  }

  /** Records that a mount allows tokens a TTL of `seconds`. */
  noteTtl(seconds: Seconds): void {
    this.sql.exec("UPDATE installation SET longest_ttl = MAX(longest_ttl, ?)", seconds);
  }

  #row(): InstallationRow {
    return this.sql.exec<InstallationRow>("SELECT * FROM installation").toArray()[0] ?? NO_INSTALLATION;
  }
}

/** An attempt to generate a root token. */
export interface RootGeneration {
  readonly nonce: string;
  /** The one-time password that the token is encoded with, sealed by the Worker. */
  readonly sealedOtp: Uint8Array;
}

/** How long an attempt stays open. */
const ATTEMPT_MS = 3_600_000;
/** Maximum number of tries of a nonce and key per attempt. */
export const MAX_KEY_TRIES = 5;

type Row = { nonce: string; otp: ArrayBuffer; tries: number };

function generationOf({ nonce, otp }: Row): RootGeneration {
  return { nonce, sealedOtp: new Uint8Array(otp) };
}

/** The open attempt to generate a root token, of which there is at most one. */
export class RootGenerationStore extends SystemStore {
  read(now: Ms): RootGeneration | null {
    const row = this.#row(now);
    return row && row.tries < MAX_KEY_TRIES ? generationOf(row) : null;
  }

  begin({ nonce, sealedOtp }: RootGeneration, now: Ms): boolean {
    if (this.read(now)) return false;
    const statement =
      "INSERT OR REPLACE INTO root_generation (id, nonce, otp, started_at, tries) VALUES (1, ?, ?, ?, 0)";
    this.sql.exec(statement, nonce, sealedOtp, now);
    return true;
  }

  /**
   * Counts a try before it is checked: concurrent tries can't exceed the limit. `counts` false: it was counted before.
   */
  try(now: Ms, counts: boolean) {
    const row = this.#row(now);
    if (!row || (counts && row.tries >= MAX_KEY_TRIES)) return null;
    if (counts) this.sql.exec("UPDATE root_generation SET tries = tries + 1");
    return { ...generationOf(row), left: MAX_KEY_TRIES - row.tries - (counts ? 1 : 0) };
  }

  /** Closes the attempt with this nonce. Of two concurrent calls only one gets true. */
  close(nonce: string, now: Ms): boolean {
    if (this.#row(now)?.nonce !== nonce) return false;
    this.cancel();
    return true;
  }

  cancel(): void {
    this.sql.exec("DELETE FROM root_generation");
  }

  #row(now: Ms): Row | null {
    const query = "SELECT nonce, otp, tries FROM root_generation WHERE started_at > ?";
    return this.sql.exec<Row>(query, now - ATTEMPT_MS).toArray()[0] ?? null;
  }
}

/** The schema of the restore. Its versions are independent of those of the installation's schema. */
export const RESTORE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the backup that the installation is restored from",
    sql: "CREATE TABLE restores (one INTEGER PRIMARY KEY CHECK (one = 1), run TEXT NOT NULL, finished_at INTEGER);",
  },
];

/** The restore of an installation. There is at most one, as it begins before the installation has keys. */
export class RestoreStore extends SystemStore {
  readonly #tables = new Tables(this.storage, RESTORE_MIGRATIONS, "restores");

  /** The run whose backup is being restored; null: no restore is in progress. */
  get running(): string | null {
    return columnOf<string>(this.#tables, "SELECT run FROM restores WHERE finished_at IS NULL")[0] ?? null;
  }

  hasFinished(run: string): boolean {
    return columnOf(this.#tables, "SELECT 1 FROM restores WHERE run = ? AND finished_at IS NOT NULL", run).length > 0;
  }

  begin(run: string): void {
    this.#tables.exec("INSERT INTO restores (one, run) VALUES (1, ?)", run);
  }

  finish(now: Ms): void {
    this.#tables.exec("UPDATE restores SET finished_at = ?", now);
    this.changed("keys");
  }
}
