import { nameKey } from "../base/case-folding.ts";
import { columnOf, type Sql } from "./tables.ts";

export interface PageRequest {
  /** From 1. */
  readonly number: number;
  readonly size: number;
}

export interface RowPage<T> {
  readonly items: readonly T[];
  /** Number of items on all pages. */
  readonly total: number;
}

/** A list of rows. The table has the columns `row`, its primary key, and `name_key`, which is searched. */
interface ListedRows {
  readonly table: string;
  /** The column to sort by. Rows with equal values are sorted by `row`. */
  readonly order: string;
  readonly reverse?: boolean;
  /** Only rows whose name contains this text, in any case; "" for all rows. */
  readonly part: string;
}

/**
 * Reads a page. The rows before the page are skipped one by one, and a search reads all names: for 100,000 names that
 * takes 5 to 35 ms (docs/decisions/0008-names-are-read.md). If an index has `order`, `row` and `name_key`, only the
 * rows of the page are read from the table itself.
 */
export function readPage<Row extends Record<string, SqlStorageValue>, T>(
  sql: Sql,
  { table, order, reverse, part }: ListedRows,
  { number, size }: PageRequest,
  itemOf: (row: Row) => T,
): RowPage<T> {
  const where = part === "" ? "" : "WHERE instr(name_key, ?) > 0";
  const parts = part === "" ? [] : [nameKey(part)];
  const direction = reverse ? "DESC" : "ASC";
  const sorted = `ORDER BY ${order} ${direction}, row ${direction}`;
  const [total = 0] = columnOf<number>(sql, `SELECT COUNT(*) FROM ${table} ${where}`, ...parts);
  const chosen = `SELECT row FROM ${table} ${where} ${sorted} LIMIT ? OFFSET ?`;
  const query = `SELECT * FROM ${table} WHERE row IN (${chosen}) ${sorted}`;
  const rows = sql.exec<Row>(query, ...parts, size, (number - 1) * size).toArray();
  return { items: rows.map(itemOf), total };
}

/** The row after which the next page of `limit` rows begins; null after the last page. */
export function rowAfter(rows: readonly { readonly row: number }[], limit: number): number | null {
  return rows.length < limit ? null : (rows.at(-1)?.row ?? null);
}

/** Reads all pages of a list. `next` is the row after which the next page begins; null at the end. */
export async function* allPages<P extends { readonly next: number | null }>(
  read: (after: number) => Promise<P>,
): AsyncGenerator<P> {
  for (let after: number | null = 0; after !== null; ) {
    const page: P = await read(after);
    yield page;
    after = page.next;
  }
}
