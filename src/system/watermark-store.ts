import { err, invalid, ok, type Result } from "../base/result.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/tables.ts";
import { type EndRequest, UNASKED } from "./end-request.ts";
import type { PartVersionStore } from "./part-versions.ts";
import type { SnapshotParts } from "./snapshot.ts";
import { covers, isSuperseded, type Watermark, type WatermarkScope } from "./watermarks.ts";

/** The table of watermarks. */
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

/** Watermarks of one installation: every isolate keeps all of them. */
export const MAX_WATERMARKS = 4096;

const TOO_MANY = invalid(
  `too many revocations are remembered (${MAX_WATERMARKS}): each is kept until the last batch token from before it has ended`,
);

/** A watermark to make. */
export interface WatermarkRequest {
  /** Names the request: made again with the same id, nothing happens. */
  readonly id: string;
  readonly scope: WatermarkScope;
  /** ms; null: whatever was made before now. */
  readonly createdBefore: number | null;
  /** Who asks; absent: it is not known. */
  readonly asked?: EndRequest;
}

/** A watermark with what operators see of it. Times in ms. */
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

/** What changes when the clean-up is over is not sealed: who can write it could as well delete the row. */
const SHAPE: TableShape = {
  table: "watermarks",
  kind: "watermark",
  key: ["number"],
  sealed: ["id", "scope", "created_before", "made_at", "asked"],
};

/**
 * The table of watermarks. One that was tampered with counts as absent. The newest is never dropped: its sealed number is what
 * new tokens carry, so a writer of the storage can't have tokens made above the watermarks to come.
 */
export class WatermarkStore {
  readonly #sql: SqlStorage;
  readonly #sealed: SealedTable<WatermarkRow>;
  readonly #versions: PartVersionStore;
  readonly #maxTokenAgeMs: () => number;

  /** @param maxTokenAgeMs after so long every batch token has expired, also one that an isolate makes which does not know a watermark yet. */
  constructor(sql: SqlStorage, seals: RowSeals, versions: PartVersionStore, maxTokenAgeMs: () => number) {
    this.#sql = sql;
    this.#versions = versions;
    this.#maxTokenAgeMs = maxTokenAgeMs;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
  }

  /** All watermarks, the oldest first. */
  all(): StoredWatermark[] {
    return this.#sealed.list("ORDER BY number").map(storedWatermark);
  }

  /** The part that the check of tokens needs. */
  snapshot(): SnapshotParts["watermarks"] {
    const stored = this.all();
    const list = stored.map(({ number, scope, createdBefore, cleaned, asked }) => {
      // Of stored tokens none is left that a cleaned one ends.
      return { number, scope, createdBefore, cleaned, ...(!cleaned && { asked }) };
    });
    return { list, newest: newestOf(stored) };
  }

  /** The number of the watermark that was made with this id, or null. */
  numberOf(id: string): number | null {
    return this.#sealed.list("WHERE id = ?", id)[0]?.number ?? null;
  }

  /**
   * Makes a watermark above all that there ever were. One of the same scope that ends no more is replaced, and one that ends
   * as much stays in its place.
   *
   * @param now ms.
   * @returns its number; a refusal when there are too many.
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
    // Not below the time: an object that is restored to an earlier state repeats no number.
    const number = Math.max(newestOf(stored) + 1, now);
    // Another one with the id can only be one that was tampered with.
    this.#sql.exec("DELETE FROM watermarks WHERE id = ?", id);
    const row = { number, id, scope, created_before: createdBefore, made_at: now, cleaned_at: null };
    this.#sealed.put({ ...row, asked: JSON.stringify(asked) });
    this.#versions.change("watermarks");
    return ok(number);
  }

  /**
   * Notes that every stored token is revoked which the watermarks of a scope up to a number end. Safe to repeat.
   *
   * @param scope null: of every scope.
   * @param now ms.
   */
  clean(scope: WatermarkScope | null, upTo: number, now: number): void {
    const which = "cleaned_at IS NULL AND number <= ? AND scope = COALESCE(?, scope)";
    const cleaned = this.#sql.exec(`UPDATE watermarks SET cleaned_at = ? WHERE ${which}`, now, upTo, scope);
    if (cleaned.rowsWritten > 0) this.#versions.change("watermarks");
    this.#dropOld(now);
  }

  /**
   * Drops those that are cleaned and that no batch token is left from before: nothing else ends those. The newest stays, and so does
   * one that ends all from a moment on, as no clean-up revokes tokens of teams.
   */
  #dropOld(now: number): void {
    const which = "cleaned_at IS NOT NULL AND made_at < ? AND number < ? AND scope NOT LIKE 'since:%'";
    const values = [now - this.#maxTokenAgeMs(), newestOf(this.all())];
    const dropped = this.#sql.exec(`DELETE FROM watermarks WHERE ${which}`, ...values);
    if (dropped.rowsWritten > 0) this.#versions.change("watermarks");
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
