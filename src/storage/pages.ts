import { columnOf, type Sql } from "./tables.ts";

/** Which rows of a table a page is of. Its rows are numbered by the column `row`; `name_key` is what is searched. */
export interface PageQuery {
  readonly table: string;
  /** The column to sort by; rows with equal values are sorted by number. */
  readonly order: string;
  readonly reverse?: boolean;
  /** Text that `name_key` must hold, in its spelling; "" for all rows. */
  readonly part: string;
  /** Rows before the page. */
  readonly offset: number;
  /** Rows of the page. */
  readonly limit: number;
}

/** Rows of a page, and how many there are on all pages together. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/**
 * Reads a page. It steps over the rows before it, and a search reads every name: of 100,000 names that takes 5 to 35 ms
 * (docs/decisions/0008-names-are-read.md). Only the rows of the page are read from the table itself where an index has
 * `order`, `row` and `name_key`.
 */
export function readPageOf<Row extends Record<string, SqlStorageValue>>(sql: Sql, query: PageQuery): RowPage<Row> {
  const { table, order, part, offset, limit } = query;
  const where = part === "" ? "" : "WHERE instr(name_key, ?) > 0";
  const parts = part === "" ? [] : [part];
  const direction = query.reverse ? "DESC" : "ASC";
  const sorted = `ORDER BY ${order} ${direction}, row ${direction}`;
  const [total = 0] = columnOf<number>(sql, `SELECT COUNT(*) FROM ${table} ${where}`, ...parts);
  const chosen = `SELECT row FROM ${table} ${where} ${sorted} LIMIT ? OFFSET ?`;
  const page = `SELECT * FROM ${table} WHERE row IN (${chosen}) ${sorted}`;
  return { rows: sql.exec<Row>(page, ...parts, limit, offset).toArray(), total };
}
