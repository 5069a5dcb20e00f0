/** The table of the attempt to generate a root token: at most one row. */
export const ROOT_GENERATION_TABLE = `
  CREATE TABLE root_generation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    nonce TEXT NOT NULL,
    otp BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    tries INTEGER NOT NULL
  );
`;

/** An attempt to generate a root token. */
export interface RootGeneration {
  readonly nonce: string;
  /** The one-time password that the token is encoded with, sealed by the Worker. */
  readonly sealedOtp: Uint8Array;
}

/** An attempt as a try at its key finds it. */
export interface TriedGeneration extends RootGeneration {
  /** Tries that are left after this one. */
  readonly left: number;
}

/** How long an attempt stays open (ms). */
const ATTEMPT_MS = 3_600_000;
/** Nonces and keys that may be tried at one attempt. */
export const MAX_KEY_TRIES = 5;

interface Row extends Record<string, SqlStorageValue> {
  nonce: string;
  otp: ArrayBuffer;
  tries: number;
}

/** The attempt to generate a root token that is open, if one is. */
export class RootGenerationStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The attempt that is open at `now` (ms), or null. */
  read(now: number): RootGeneration | null {
    const row = this.#row(now);
    return row && row.tries < MAX_KEY_TRIES ? generationOf(row) : null;
  }

  /** Opens an attempt at `now` (ms). False when one is open. */
  begin({ nonce, sealedOtp }: RootGeneration, now: number): boolean {
    if (this.read(now)) return false;
    this.#sql.exec(
      "INSERT OR REPLACE INTO root_generation (id, nonce, otp, started_at, tries) VALUES (1, ?, ?, ?, 0)",
      nonce,
      sealedOtp,
      now,
    );
    return true;
  }

  /** Counts a try before it is judged: of many at once none is free. null when no attempt is open at `now` (ms). */
  try(now: number): TriedGeneration | null {
    const attempt = this.read(now);
    if (!attempt) return null;
    const { tries } = this.#sql
      .exec<{ tries: number }>("UPDATE root_generation SET tries = tries + 1 RETURNING tries")
      .one();
    return { ...attempt, left: MAX_KEY_TRIES - tries };
  }

  /** Closes the attempt with this nonce. False when it is not open at `now` (ms): of two at once one closes it. */
  close(nonce: string, now: number): boolean {
    if (this.#row(now)?.nonce !== nonce) return false;
    this.cancel();
    return true;
  }

  /** Closes whatever attempt is open. Safe to repeat. */
  cancel(): void {
    this.#sql.exec("DELETE FROM root_generation");
  }

  #row(now: number): Row | null {
    const query = "SELECT nonce, otp, tries FROM root_generation WHERE started_at > ?";
    return this.#sql.exec<Row>(query, now - ATTEMPT_MS).toArray()[0] ?? null;
  }
}

function generationOf({ nonce, otp }: Row): RootGeneration {
  return { nonce, sealedOtp: new Uint8Array(otp) };
}
