import type { Sql } from "./tables.ts";

/** The tables of a name search, for the first migration of an object that has one. */
export const NAME_SEARCH_TABLES = `
  CREATE TABLE grams (gram TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (gram, row)) WITHOUT ROWID;
  CREATE TABLE gram_counts (gram TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Names that a search looks at before it gives up. */
export const MAX_CANDIDATES = 5000;

const GRAM = 3;
/** Fills up the last grams of a name, so that a search for one or two characters finds them too. No name ends in it. */
const PAD = " ";
/** Above every character of a name. */
const LAST = "\uffff";

/** Where the names to look at are listed: all grams from `from` to before `to`. */
interface Range {
  readonly from: string;
  readonly to: string;
}

/** A search that would cost too much. */
export type TooMany = "too_many";

/**
 * Finds names by a part of them. Every run of three characters of a name (a gram) is listed; a search looks at the names
 * under the rarest gram of what it searches. How many that are is known before, so a search that would have to look at
 * more than 5,000 names is refused and not begun: the cost does not grow with the number of names.
 */
export class NameSearch {
  readonly #sql: Sql;
  readonly #table: string;

  /** Searches the column `name_key` of `table`, whose rows are numbered by the column `row`. */
  constructor(sql: Sql, table: string) {
    this.#sql = sql;
    this.#table = table;
  }

  /** Makes the row findable by `name` (in the spelling that searches use). */
  add(name: string, row: number): void {
    const grams = JSON.stringify(gramsOf(padded(name)));
    this.#sql.exec("INSERT INTO grams (gram, row) SELECT value, ? FROM json_each(?)", row, grams);
    this.#sql.exec(
      `INSERT INTO gram_counts (gram, count) SELECT value, 1 FROM json_each(?) WHERE true
       ON CONFLICT (gram) DO UPDATE SET count = count + 1`,
      grams,
    );
  }

  /** Takes back what `add` did with the same arguments. */
  remove(name: string, row: number): void {
    const grams = JSON.stringify(gramsOf(padded(name)));
    this.#sql.exec("DELETE FROM grams WHERE row = ? AND gram IN (SELECT value FROM json_each(?))", row, grams);
    this.#sql.exec("UPDATE gram_counts SET count = count - 1 WHERE gram IN (SELECT value FROM json_each(?))", grams);
    this.#sql.exec("DELETE FROM gram_counts WHERE count = 0 AND gram IN (SELECT value FROM json_each(?))", grams);
  }

  /**
   * The rows whose name holds `part` (not empty, in the spelling of the names), by name.
   *
   * @returns "too_many" when more than MAX_CANDIDATES names would have to be looked at.
   */
  find(part: string): number[] | TooMany {
    return this.#find(part, "", "t", "name_key");
  }

  /**
   * The rows of another table that belong to names that hold `part`.
   *
   * @param table whose rows are numbered by the column `row`.
   * @param column by which they belong to the row with the same value; both tables have it.
   * @param order the column to sort by; rows with equal values are sorted by number.
   * @returns "too_many" when more than MAX_CANDIDATES names or rows would have to be looked at.
   */
  findJoined(part: string, table: string, column: string, order: string): number[] | TooMany {
    return this.#find(part, `CROSS JOIN ${table} o ON o.${column} = t.${column}`, "o", order);
  }

  #find(part: string, join: string, from: "o" | "t", order: string): number[] | TooMany {
    const range = part.length < GRAM ? this.#rangeOfPrefix(part) : this.#rangeOfRarest(part);
    if (range === null) return [];
    if (range === "too_many") return range;
    const rows = this.#sql
      .exec<{ row: number }>(
        `SELECT row FROM (
           SELECT ${from}.row, ${from}.${order} AS key
           FROM (SELECT DISTINCT row FROM grams WHERE gram >= ? AND gram < ?) g
           CROSS JOIN ${this.#table} t ON t.row = g.row ${join}
           WHERE instr(t.name_key, ?) > 0 LIMIT ${MAX_CANDIDATES + 1}
         ) ORDER BY key, row`,
        range.from,
        range.to,
        part,
      )
      .toArray();
    return rows.length > MAX_CANDIDATES ? "too_many" : rows.map(({ row }) => row);
  }

  /** The rarest gram of `part`. null when no name can match. */
  #rangeOfRarest(part: string): Range | null | TooMany {
    const grams = gramsOf(part);
    const found = this.#sql
      .exec<{ gram: string; count: number }>(
        "SELECT gram, count FROM gram_counts WHERE gram IN (SELECT value FROM json_each(?))",
        JSON.stringify(grams),
      )
      .toArray();
    if (found.length < grams.length) return null;
    const rarest = found.reduce((best, candidate) => (candidate.count < best.count ? candidate : best));
    return rarest.count > MAX_CANDIDATES ? "too_many" : { from: rarest.gram, to: rarest.gram + PAD };
  }

  /** One or two characters are the beginning of the grams at every place where they occur. */
  #rangeOfPrefix(part: string): Range | null | TooMany {
    const range = { from: part, to: part + LAST };
    let names = 0;
    const counts = this.#sql.exec<{ count: number }>(
      "SELECT count FROM gram_counts WHERE gram >= ? AND gram < ?",
      range.from,
      range.to,
    );
    for (const { count } of counts) {
      names += count;
      if (names > MAX_CANDIDATES) return "too_many";
    }
    return names === 0 ? null : range;
  }
}

function padded(name: string): string {
  return name + PAD.repeat(GRAM - 1);
}

/** The different runs of three characters in `text`. */
function gramsOf(text: string): string[] {
  const grams = new Set<string>();
  for (let at = 0; at + GRAM <= text.length; at++) grams.add(text.slice(at, at + GRAM));
  return [...grams];
}
