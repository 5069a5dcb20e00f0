import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedValues } from "../../../storage/sealed-values.ts";
import type { Sql } from "../../../storage/tables.ts";

/** What a step of the removal did. */
export interface Swept {
  /** Rows that it looked at. */
  readonly met: number;
  readonly removed: number;
}

/** A table of values, each of which ends at some time. Ended rows stay until they are removed. */
export class ExpiringValues<T extends { readonly expiresAt: number }> extends SealedValues<T> {
  readonly #sql: Sql;
  readonly #table: string;

  /** @param table with the columns of a table of values and `expires_at` (ms), which has an index. */
  constructor(sql: Sql, seals: RowSeals, table: string, kind: SealedKind) {
    super(sql, seals, table, kind);
    this.#sql = sql;
    this.#table = table;
  }

  override write(name: string, value: T): void {
    super.write(name, value, { expires_at: value.expiresAt });
  }

  /**
   * Looks at the rows that ended first and removes those that `stays` does not keep. The others, and those whose value can't
   * be read, are looked at again later.
   *
   * @param cutoff ms: only rows that ended before it.
   * @param limit most rows to look at.
   * @param again when the rows that stay are looked at again (ms).
   */
  sweep(cutoff: number, limit: number, again: number, stays: (name: string, value: T) => boolean): Swept {
    const ended = this.#sql
      .exec<{ name: string; value: string }>(
        `SELECT name, value FROM ${this.#table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?`,
        cutoff,
        limit,
      )
      .toArray();
    const { kept = [], gone = [] } = Object.groupBy(ended, ({ name, value }) =>
      staysOrUnreadable(name, value, stays) ? "kept" : "gone",
    );
    const named = "WHERE name IN (SELECT value FROM json_each(?))";
    if (kept.length > 0) {
      this.#sql.exec(`UPDATE ${this.#table} SET expires_at = ? ${named}`, again, namesOf(kept));
    }
    if (gone.length > 0) this.#sql.exec(`DELETE FROM ${this.#table} ${named}`, namesOf(gone));
    return { met: ended.length, removed: gone.length };
  }

  /** When the next row ends, or is to be looked at again (ms), or null. */
  earliestEnd(): number | null {
    const query = `SELECT MIN(expires_at) AS end FROM ${this.#table}`;
    const end = this.#sql.exec<{ end: SqlStorageValue }>(query).toArray()[0]?.end;
    return typeof end === "number" ? end : null;
  }

  /** Rows whose end can't be read, which only an operator removes. They sort behind all numbers in the index. */
  unreadable(): number {
    const query = `SELECT COUNT(*) AS n FROM ${this.#table} WHERE expires_at >= ''`;
    return this.#sql.exec<{ n: number }>(query).toArray()[0]?.n ?? 0;
  }
}

function namesOf(rows: readonly { readonly name: string }[]): string {
  return JSON.stringify(rows.map(({ name }) => name));
}

function staysOrUnreadable<T>(name: string, json: string, stays: (name: string, value: T) => boolean): boolean {
  try {
    const value: T = JSON.parse(json);
    return stays(name, value);
  } catch {
    return true;
  }
}
