import type { Ms } from "../../../base/clock.ts";
import { type Sql, storedJson } from "../../../storage/tables.ts";
import { decodeStoredId } from "../../../token/ids.ts";
import { type InventoryEntry, type ListedToken, UNKNOWN_ENTRY } from "../entry.ts";
import { NEVER } from "../page-cursor.ts";

/**
 * `inventory` has one row for each listed token. `accessors` is unused. `searched_terms` has each term of
 * `postings` that a search covers, once: its text in lower case, indexed by trigrams without positions. The columns
 * `tree_...` are set for the oldest token of a tree with several tokens.
 */
export const INVENTORY_SQL = `
  CREATE TABLE accessors (accessor TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX accessors_by_path ON accessors (path);
  CREATE TABLE inventory (
    id INTEGER PRIMARY KEY, accessor TEXT NOT NULL, path TEXT NOT NULL, ends INTEGER NOT NULL,
    tree_mount TEXT, tree_size INTEGER, tree_class INTEGER, entry TEXT NOT NULL
  );
  CREATE INDEX inventory_by_accessor ON inventory (accessor);
  CREATE INDEX inventory_by_path ON inventory (path, accessor);
  CREATE INDEX inventory_by_end ON inventory (ends);
  CREATE INDEX inventory_by_tree_size ON inventory (tree_mount, tree_class) WHERE tree_mount IS NOT NULL;
  CREATE TABLE postings (
    term TEXT NOT NULL, first INTEGER NOT NULL, n INTEGER NOT NULL, ids TEXT NOT NULL,
    PRIMARY KEY (term, first)
  ) WITHOUT ROWID;
  CREATE VIRTUAL TABLE searched_terms USING fts5(
    text, term UNINDEXED, tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0
  );
  CREATE TABLE counts (
    kind TEXT NOT NULL, mount TEXT NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, mount, key)
  ) WITHOUT ROWID;
  CREATE INDEX counts_by_size ON counts (kind, mount, n) WHERE n > 1;
  CREATE TABLE pending (one INTEGER PRIMARY KEY, changes TEXT NOT NULL);
`;

/**
 * Number of ids that a token may have. Rows of different trees can have equal numbers, so the id of a token is the
 * first free one from its row number on. The accessor contains that number, so the row is found without an index.
 */
export const ID_PROBES = 64;

/**
 * Finds the row of a token in a table, or the first free id for it. `known` is null when it has no row; `free` is null
 * when it has one or no id is free. Reads rows up to its own at most.
 */
export function findPlace<Row extends { id: number; accessor: string }>(
  sql: Sql,
  table: "inventory" | "ended",
  columns: string,
  accessor: string,
): { readonly known: Row | null; readonly free: number | null } {
  const row = decodeStoredId(accessor)?.row;
  if (row === undefined) return { known: null, free: null };
  const query = `SELECT ${columns} FROM ${table} WHERE id BETWEEN ? AND ? ORDER BY id`;
  const near = sql.exec<Row>(query, row, row + ID_PROBES - 1);
  let free = row;
  for (const known of near) {
    if (known.accessor === accessor) return { known, free: null };
    if (known.id === free) free++;
  }
  return { known: null, free: free < row + ID_PROBES ? free : null };
}

export type TokenRowOfShard = { id: number; accessor: string; entry: string };
export type ListedRow = TokenRowOfShard & { ends: Ms };

/** Returns the token of a row; null for a tampered row that can't be read. */
export function readListedToken({ id, accessor, entry }: TokenRowOfShard): ListedToken | null {
  const stored = readEntry(entry);
  return stored && { ...stored, accessor, id };
}

/**
 * Returns the token of a row. For a tampered row that can't be read, it has what the columns say: the lists show all
 * other tokens, until tidy reports the row and repairs it.
 */
export function tokenOf(row: ListedRow): ListedToken {
  const { id, accessor, ends } = row;
  return readListedToken(row) ?? { ...UNKNOWN_ENTRY, expiresAt: ends === NEVER ? null : ends, accessor, id };
}

/** Returns the entry in a column; null for a text that is none. */
export function readEntry(text: string): Omit<InventoryEntry, "accessor"> | null {
  try {
    const entry = storedJson<Omit<InventoryEntry, "accessor"> | null>(text);
    return Array.isArray(entry?.policies) ? entry : null;
  } catch {
    return null;
  }
}
