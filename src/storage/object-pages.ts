import { fromBase64, toBase64 } from "../crypto/bytes.ts";
import { columnOf } from "./tables.ts";

/** A value of a row in JSON; `b` has bytes in base64. */
export type PageValue = string | number | null | { readonly b: string };

export function isPageValue(value: unknown): value is PageValue {
  if (typeof value !== "object" || value === null) return value === null || ["string", "number"].includes(typeof value);
  return "b" in value && typeof value.b === "string" && fromBase64(value.b) !== null;
}

/** Rows of one table. */
interface TablePage {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly PageValue[])[];
}

/** A part of the rows of an object, as they are stored. All pages of an object show the same state. */
export interface ObjectPage {
  /** The object id that the seals of the rows contain. */
  readonly id: string;
  /** Counts from 0. */
  readonly page: number;
  /** SQL that creates the tables; only in the first page. */
  readonly schema: readonly string[];
  readonly tables: readonly TablePage[];
  readonly isLast: boolean;
}

/** Position where the next page of an object begins. */
export interface PagePosition {
  readonly page: number;
  readonly table: string;
  /** Key of the last row of the table that was read; null for none. */
  readonly after: readonly PageValue[] | null;
  /** The state of the object at the first page. It differs from the current one after any change. */
  readonly mark: string;
}

export interface PageRead {
  readonly page: ObjectPage;
  /** Approximate length of the page as JSON, in characters. */
  readonly characters: number;
  /** null after the last page. */
  readonly next: PagePosition | null;
}

/** Tables and views that belong to the object itself and not to its contents. */
const NOT_SAVED = ["origin", "origin_version", "restores", "restores_version"];

/** SQL condition on `sqlite_master`. Names of the runtime begin with an underscore. */
const NOT_INTERNAL = "sql IS NOT NULL AND substr(name, 1, 1) <> '_' AND substr(name, 1, 7) <> 'sqlite_'";

/** SQL condition on `sqlite_master` for the contents of an object. */
const OWN = `${NOT_INTERNAL}
  AND name NOT IN (${NOT_SAVED.map((name) => `'${name}'`).join(", ")})`;

const PRINTABLE_ASCII = /^[ -~]*$/;

/** The statements that the schema of a page may have. */
const MAKES = /^CREATE (?:TABLE|INDEX|UNIQUE INDEX|VIEW) /i;

export function hasTables(sql: SqlStorage): boolean {
  return sql.exec(`SELECT 1 FROM sqlite_master WHERE ${OWN} LIMIT 1`).toArray().length > 0;
}

export function dropTables(sql: SqlStorage): void {
  const made = sql.exec<{ type: string; name: string }>(
    `SELECT type, name FROM sqlite_master WHERE ${OWN} AND type IN ('table', 'view')`,
  );
  for (const { type, name } of made.toArray()) sql.exec(`DROP ${type} "${name}"`);
}

/** Deletes all rows of the object, except in the tables `kept`. */
export function emptyTables(sql: SqlStorage, kept: readonly string[]): void {
  const tables = columnOf<string>(sql, `SELECT name FROM sqlite_master WHERE type = 'table' AND ${NOT_INTERNAL}`);
  for (const table of tables) if (!kept.includes(table)) sql.exec(`DELETE FROM "${table}"`);
}

/**
 * Reads a page of the object, from the beginning if `from` is null: at most `maxCharacters` of JSON, but at least one
 * row. Synchronous, so the page shows one state.
 *
 * @param mark the current state of the object, see `PagePosition.mark`.
 * @returns "changed" when the object has changed since the previous page; null for an object without tables.
 */
export function readObjectPage(
  sql: SqlStorage,
  id: string,
  mark: string,
  from: PagePosition | null,
  maxCharacters: number,
): PageRead | "changed" | null {
  if (from && from.mark !== mark) return "changed";
  const made = sql
    .exec<{ type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_master WHERE ${OWN} ORDER BY rowid`,
    )
    .toArray();
  if (made.length === 0) return null;
  const schema = from ? [] : made.map((one) => one.sql);
  const names = made.filter(({ type }) => type === "table").map(({ name }) => name);
  // A position that this object did not return is treated as one before a change.
  if (from && !names.includes(from.table)) return "changed";
  if (from?.after && (from.after.length === 0 || from.after.length !== keyOf(sql, from.table).length)) return "changed";
  const tables: TablePage[] = [];
  const page = from?.page ?? 0;
  let characters = 0;
  for (const table of names.slice(from ? names.indexOf(from.table) : 0)) {
    const after = table === from?.table ? from.after : null;
    const read = readTable(sql, table, after, Math.max(1, maxCharacters - characters));
    if (read.rows.length > 0) tables.push({ table, columns: read.columns, rows: read.rows });
    characters += read.characters;
    if (read.last) {
      const next = { page: page + 1, table, after: read.last, mark };
      return { page: { id, page, schema, tables, isLast: false }, characters, next };
    }
  }
  return { page: { id, page, schema, tables, isLast: true }, characters, next: null };
}

/** A row by its columns, as the database returns and takes it. */
export type StoredRow = Readonly<Record<string, SqlStorageValue>>;

/**
 * Writes a page into the tables of an object. The first page creates them. Called in a transaction.
 *
 * @param change applied to each row before it is written; null: rows are written as they are.
 */
export function writeObjectPage(
  sql: SqlStorage,
  page: ObjectPage,
  change: ((table: string, row: StoredRow) => StoredRow) | null,
): void {
  for (const statement of page.schema) {
    if (!MAKES.test(statement)) throw new Error("a backup makes tables and indexes alone");
    sql.exec(statement);
  }
  for (const { table, columns, rows } of page.tables) {
    const names = columns.map((column) => `"${column}"`).join(", ");
    const insert = `INSERT INTO "${table}" (${names}) VALUES (${columns.map(() => "?").join(", ")})`;
    for (const row of rows) {
      const stored = Object.fromEntries(columns.map((column, at) => [column, storedValue(row[at] ?? null)]));
      const written = change ? change(table, stored) : stored;
      sql.exec(insert, ...columns.map((column) => written[column] ?? null));
    }
  }
}

/** Reads rows of a table. `last` is the key of the last one; null when no rows of the table remain. */
function readTable(sql: SqlStorage, table: string, after: readonly PageValue[] | null, maxCharacters: number) {
  const key = keyOf(sql, table);
  // A table without a key has one or two rows and is read at once.
  const keyNames = key.map((name) => `"${name}"`).join(", ");
  const where = after ? `WHERE (${keyNames}) > (${key.map(() => "?").join(", ")})` : "";
  const order = key.length === 0 ? "" : `ORDER BY ${keyNames}`;
  const cursor = sql.exec(`SELECT * FROM "${table}" ${where} ${order}`, ...(after ?? []).map(storedValue));
  const columns = cursor.columnNames;
  const places = key.map((name) => columns.indexOf(name));
  const rows: PageValue[][] = [];
  let characters = 0;
  for (const stored of cursor.raw()) {
    if (characters >= maxCharacters && key.length > 0) {
      const last = rows.at(-1) ?? [];
      return { columns, rows, characters, last: places.map((place) => last[place] ?? null) };
    }
    const row = stored.map(pageValue);
    rows.push(row);
    characters += row.reduce<number>((sum, value) => sum + charactersOf(value), 2);
  }
  return { columns, rows, characters, last: null };
}

function keyOf(sql: SqlStorage, table: string): string[] {
  return columnOf(sql, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table);
}

function pageValue(value: SqlStorageValue): PageValue {
  return value instanceof ArrayBuffer ? { b: toBase64(new Uint8Array(value)) } : value;
}

function storedValue(value: PageValue): SqlStorageValue {
  if (typeof value !== "object" || value === null) return value;
  const bytes = fromBase64(value.b);
  if (!bytes) throw new Error("a value of a backup is not base64");
  return bytes.buffer;
}

function charactersOf(value: PageValue): number {
  // Other characters than printable ASCII count as three: up to three bytes, or six when escaped, which compress well.
  if (typeof value === "string") return (PRINTABLE_ASCII.test(value) ? 1 : 3) * value.length + 3;
  if (typeof value === "object" && value !== null) return value.b.length + 9;
  return 12;
}
