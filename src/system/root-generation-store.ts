/** The table of the attempt to generate a root token: at most one row. */
export const ROOT_GENERATION_TABLE = `
  CREATE TABLE root_generation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    nonce TEXT NOT NULL,
    otp BLOB NOT NULL,
    started_at INTEGER NOT NULL
  );
`;

/** An attempt to generate a root token. */
export interface RootGeneration {
  readonly nonce: string;
  /** The one-time password that the token is encoded with, sealed by the Worker. */
  readonly sealedOtp: Uint8Array;
}

/** How long an attempt stays open (ms). */
const ATTEMPT_MS = 3_600_000;

/** The attempt to generate a root token that is open, if one is. */
export class RootGenerationStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The attempt that is open at `now` (ms), or null. */
  read(now: number): RootGeneration | null {
    const row = this.#sql
      .exec<{ nonce: string; otp: ArrayBuffer }>(
        "SELECT nonce, otp FROM root_generation WHERE started_at > ?",
        now - ATTEMPT_MS,
      )
      .toArray()[0];
    return row ? { nonce: row.nonce, sealedOtp: new Uint8Array(row.otp) } : null;
  }

  /** Opens an attempt at `now` (ms). False when one is open. */
  begin({ nonce, sealedOtp }: RootGeneration, now: number): boolean {
    if (this.read(now)) return false;
    this.#sql.exec(
      "INSERT OR REPLACE INTO root_generation (id, nonce, otp, started_at) VALUES (1, ?, ?, ?)",
      nonce,
      sealedOtp,
      now,
    );
    return true;
  }

  /** Closes the attempt with this nonce. False when it is not open at `now` (ms): of two at once one closes it. */
  close(nonce: string, now: number): boolean {
    if (this.read(now)?.nonce !== nonce) return false;
    this.cancel();
    return true;
  }

  /** Closes whatever attempt is open. Safe to repeat. */
  cancel(): void {
    this.#sql.exec("DELETE FROM root_generation");
  }
}
