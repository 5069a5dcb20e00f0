import { err, invalid, ok, type Result } from "../base/result.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/tables.ts";
import { type EndRequest, UNASKED } from "./end-request.ts";
import { SystemStore, type SystemTables } from "./part-versions.ts";
import { covers, isSuperseded, type Watermark, type WatermarkScope } from "./watermarks.ts";

export const WATERMARK_TABLE = `
  CREATE TABLE watermarks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_before INTEGER,
    made_at INTEGER NOT NULL,
    cleaned_at INTEGER,
    asked TEXT NOT NULL,
    seal BLOB
  );
`;

/** Maximum number of watermarks of an installation: every isolate keeps all of them. */
export const MAX_WATERMARKS = 4096;

const TOO_MANY = invalid(
  `too many revocations are remembered (${MAX_WATERMARKS}): each is kept until the last batch token from before it has ended`,
);

/** A watermark to make. */
export interface WatermarkRequest {
  /** Id of the request. A repeated request with the same id makes no second watermark. */
  readonly id: string;
  readonly scope: WatermarkScope;
  /** ms; see `Watermark.createdBefore`. */
  readonly createdBefore: number | null;
  /** The caller and the request that ask for it; absent: not known. */
  readonly asked?: EndRequest;
}

/** A watermark with the fields that only operators see. Times in ms. */
export interface StoredWatermark extends Watermark {
  readonly id: string;
  readonly asked: EndRequest;
  readonly madeAt: number;
  readonly cleanedAt: number | null;
}

interface WatermarkRow extends Record<string, SqlStorageValue> {
  number: number;
  id: string;
  scope: WatermarkScope;
  created_before: number | null;
  made_at: number;
  cleaned_at: number | null;
  /** JSON of an `EndRequest`. */
  asked: string;
}

/** `cleaned_at` is not sealed: an attacker who can write it could as well delete the row. */
const SHAPE: TableShape = {
  table: "watermarks",
  kind: "watermark",
  key: ["number"],
  sealed: ["id", "scope", "created_before", "made_at", "asked"],
};

/**
 * The table of watermarks. One that was tampered with counts as absent. The newest is never dropped: new tokens carry
 * its number, which is sealed. So an attacker who writes the storage can't make new tokens carry a number above later
 * watermarks.
 */
export class WatermarkStore extends SystemStore {
  readonly #sealed = new SealedTable<WatermarkRow>(this.sql, this.seals, SHAPE);
  readonly #maxTokenAgeMs: () => number;

  /**
   * @param maxTokenAgeMs time (ms) after the making of a watermark by which every batch token that it ends has expired,
   *   also one from an isolate that did not know the watermark yet.
   */
  constructor(tables: SystemTables, maxTokenAgeMs: () => number) {
    super(tables);
    this.#maxTokenAgeMs = maxTokenAgeMs;
  }

  /** All watermarks, the oldest first. */
  all(): StoredWatermark[] {
    return this.#sealed.list("ORDER BY number").map(storedWatermark);
  }

  /** The watermarks for isolates, and the number of the newest watermark ever made; 0 before the first. */
  snapshot() {
    const stored = this.all();
    const list = stored.map(({ number, scope, createdBefore, cleaned, asked }): Watermark => {
      // `asked` is recorded for ended tokens in trees. A cleaned watermark has none left.
      return { number, scope, createdBefore, cleaned, ...(!cleaned && { asked }) };
    });
    return { list, newest: newestOf(stored) };
  }

  /** The number of the watermark that was made with this id, or null. */
  numberOf(id: string): number | null {
    return this.#sealed.list("WHERE id = ?", id)[0]?.number ?? null;
  }

  /**
   * Makes a watermark with a number above all earlier ones. It replaces those of the same scope that end nothing more.
   * If an existing one of the same scope already ends as much, no new one is made. `now` in ms.
   *
   * @returns the number of the new or existing watermark; a refusal when there are `MAX_WATERMARKS`.
   */
  add({ id, scope, createdBefore, asked = UNASKED }: WatermarkRequest, now: number): Result<number> {
    this.#dropOld(now);
    const stored = this.all();
    const known = stored.find((other) => other.id === id);
    if (known) return ok(known.number);
    const others = stored.filter((other) => other.scope === scope);
    const enough = others.find((other) => covers(other, createdBefore));
    if (enough) return ok(enough.number);
    const superseded = others.filter((other) => isSuperseded(other.createdBefore, createdBefore));
    if (this.#sealed.count() - superseded.length >= MAX_WATERMARKS) return err(TOO_MANY);
    for (const { number } of superseded) this.#sealed.delete(number);
    // Not below the time, so that an object that is restored to an earlier state repeats no number.
    const number = Math.max(newestOf(stored) + 1, now);
    // `all()` had no row with this id, so one that is in the table was tampered with.
    this.sql.exec("DELETE FROM watermarks WHERE id = ?", id);
    const row = { number, id, scope, created_before: createdBefore, made_at: now, cleaned_at: null };
    this.#sealed.put({ ...row, asked: JSON.stringify(asked) });
    this.changed("watermarks");
    return ok(number);
  }

  /** See `System.watermarksCleaned`. */
  clean(scope: WatermarkScope | null, upTo: number, now: number): void {
    const which = "cleaned_at IS NULL AND number <= ? AND scope = COALESCE(?, scope)";
    const cleaned = this.sql.exec(`UPDATE watermarks SET cleaned_at = ? WHERE ${which}`, now, upTo, scope);
    if (cleaned.rowsWritten > 0) this.changed("watermarks");
    this.#dropOld(now);
  }

  /**
   * Drops cleaned watermarks once all batch tokens that they end have expired: only watermarks end batch tokens. The
   * newest stays. Those with a `since` scope stay too, as no clean-up revokes tokens of teams.
   */
  #dropOld(now: number): void {
    const which = "cleaned_at IS NOT NULL AND made_at < ? AND number < ? AND scope NOT LIKE 'since:%'";
    const values = [now - this.#maxTokenAgeMs(), newestOf(this.all())];
    const dropped = this.sql.exec(`DELETE FROM watermarks WHERE ${which}`, ...values);
    if (dropped.rowsWritten > 0) this.changed("watermarks");
  }
}

/** The number of the newest of `stored`, which are sorted by number; 0 without any. */
function newestOf(stored: readonly StoredWatermark[]): number {
  return stored.at(-1)?.number ?? 0;
}

function storedWatermark(row: WatermarkRow): StoredWatermark {
  return {
    number: row.number,
    id: row.id,
    scope: row.scope,
    createdBefore: row.created_before,
    cleaned: row.cleaned_at !== null,
    madeAt: row.made_at,
    cleanedAt: row.cleaned_at,
    asked: storedJson<EndRequest>(row.asked),
  };
}
