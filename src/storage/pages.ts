import { columnOf, type Sql } from "./tables.ts";

/** The rows of a page. The table has the columns `row`, a unique number, and `name_key`, the text that is searched. */
export interface PageQuery {
  readonly table: string;
  /** The column to sort by; rows with equal values are sorted by number. */
  readonly order: string;
  readonly reverse?: boolean;
  /** Text that `name_key` must contain, in the spelling of `nameKey`; "" for all rows. */
  readonly part: string;
  /** Number of rows before the page. */
  readonly offset: number;
  /** Maximum number of rows of the page. */
  readonly limit: number;
}

/** The rows of a page, and the number of rows of all pages. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/**
 * Reads a page. The query skips the rows before the page, and a search reads every name. With 100,000 names this takes
 * 5 to 35 ms (docs/decisions/0008-names-are-read.md). With an index over `order`, `row` and `name_key`, only the rows
 * of the page are read from the table itself.
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
