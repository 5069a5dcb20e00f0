import type { AgedTerm } from "../../crypto/key-ring.ts";
import { HELD } from "../../lease/store.ts";
import { fixedPart, fixedText, type ListedClaim } from "../../listing/inventory/entry.ts";
import { storedJson } from "../../storage/tables.ts";
import { decodeStoredId, firstRowAt, routedIdText } from "../../token/ids.ts";
import type { TokenRecord } from "../../token/record.ts";
import { CUSTOM_ID_KEY } from "../token-rows.ts";
import type { TidyStep, TreePosition } from "./step.ts";

/** Rows that one step reads: it takes a few ms, and requests to the tree wait no longer than that. */
export const TIDY_ROWS = 200;

type StoredAccessor = { row: number; accessor: ArrayBuffer };

/** The columns of a token that its entries in the lists are compared with. */
type ComparedRow = StoredAccessor & { custom_id_key: string | null; expires_at: number | null; record: string };

/**
 * Compares the lists with the rows of the tree: entries without a row, and entries that differ from their row. A row
 * that is dead counts as existing: the sweep removes its entries.
 */
export function compareLists(sql: SqlStorage, treeId: string, step: Pick<TidyStep, "accessors" | "customIds">) {
  const rowsOfAccessors = step.accessors.map(({ accessor }) => decodeStoredId(accessor)?.row ?? null);
  const claimed = [...rowsOfAccessors, ...step.customIds.map(({ row }) => row)];
  const query = `SELECT row, accessor, ${CUSTOM_ID_KEY} AS custom_id_key, expires_at, record
    FROM tokens WHERE row IN (SELECT value FROM json_each(?))`;
  const stored = sql.exec<ComparedRow>(query, JSON.stringify(claimed.filter((row) => row !== null))).toArray();
  const tokens = new Map(stored.map((token) => [accessorOf(treeId, token), token]));
  const keys = new Map(stored.map((token) => [token.row, token.custom_id_key]));
  const that = (is: (entry: Entry, token: ComparedRow) => boolean) =>
    step.accessors.flatMap(({ accessor, entry }) => {
      const token = tokens.get(accessor);
      return token && typeof entry === "object" && is(entry, token) ? [accessor] : [];
    });
  return {
    goneAccessors: step.accessors.map(({ accessor }) => accessor).filter((accessor) => !tokens.has(accessor)),
    goneCustomIds: step.customIds.filter(({ key, row }) => keys.get(row) !== key),
    staleEntries: that(({ expiresAt }, token) => expiresAt !== token.expires_at),
    wrongEntries: that(({ fixed }, { record }) => fixed !== fixedText(fixedPart(storedJson<TokenRecord>(record)))),
  };
}

type Entry = Exclude<ListedClaim["entry"], string>;

/** At most `limit` tokens after the row number `after`, alive or not, in order. */
export function tokensAfter(sql: SqlStorage, treeId: string, after: number, limit: number) {
  return sql
    .exec<StoredAccessor>("SELECT row, accessor FROM tokens WHERE row > ? ORDER BY row LIMIT ?", after, limit)
    .toArray()
    .map((token) => ({ row: token.row, accessor: accessorOf(treeId, token) }));
}

/** Makes orphans of the tokens after `after` and up to `last` whose parent has no row. Returns their number. */
export function orphanChildrenOfMissingParents(sql: SqlStorage, after: number, last: number): number {
  const statement = `UPDATE tokens SET parent = NULL
    WHERE row > ? AND row <= ? AND parent IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM tokens p WHERE p.row = tokens.parent)
    RETURNING row`;
  return sql.exec(statement, after, last).toArray().length;
}

/** Tables of things that tokens own: the column with the row of the token, and the condition of rows to check. */
const OWNED = {
  cubbyhole: { owner: "row", where: "TRUE" },
  leases: { owner: "token", where: `state = ${HELD}` },
} as const;

/**
 * Checks the next TIDY_ROWS owners after the row number `after` in a table of things that tokens own, and passes those
 * without a token to `act`. Seeks from owner to owner in the index, without a read of the rows in between. Returns how
 * many things were removed, and after which owner the next step continues; null at the end of the table.
 *
 * @param act removes at most TIDY_ROWS things of these owners and returns how many. If it is TIDY_ROWS, there may be
 *   more, and the next step checks the same owners again.
 */
export function forMissingOwners(
  sql: SqlStorage,
  table: keyof typeof OWNED,
  after: number,
  act: (owners: readonly number[]) => number,
) {
  if (!isMade(sql, table)) return { done: 0, next: null };
  const { owner, where } = OWNED[table];
  const owners = sql
    .exec<{ row: number; known: number }>(
      `WITH RECURSIVE owners (row) AS (
         SELECT MIN(${owner}) FROM ${table} WHERE ${where} AND ${owner} > ?1
         UNION ALL
         SELECT (SELECT MIN(x.${owner}) FROM ${table} x WHERE ${where} AND x.${owner} > owners.row)
         FROM owners WHERE owners.row IS NOT NULL
         LIMIT ?2
       )
       SELECT row, EXISTS (SELECT 1 FROM tokens t WHERE t.row = owners.row) AS known FROM owners WHERE row IS NOT NULL`,
      after,
      TIDY_ROWS,
    )
    .toArray();
  const gone = owners.filter(({ known }) => known === 0).map(({ row }) => row);
  const done = gone.length > 0 ? act(gone) : 0;
  if (done === TIDY_ROWS) return { done, next: { after } };
  const last = owners.length === TIDY_ROWS ? owners.at(-1) : undefined;
  return { done, next: last ? { after: last.row } : null };
}

/** True when the table exists: it is created with its first row. */
function isMade(sql: SqlStorage, table: keyof typeof OWNED): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).toArray().length > 0;
}

/** Deletes at most TIDY_ROWS cubbyhole entries of `owners`. Returns their number. */
export function dropEntries(sql: SqlStorage, owners: readonly number[]): number {
  const statement = `DELETE FROM cubbyhole WHERE (row, path) IN (
      SELECT c.row, c.path FROM json_each(?1) n JOIN cubbyhole c ON c.row = n.value LIMIT ?2
    ) RETURNING row`;
  return sql.exec(statement, JSON.stringify(owners), TIDY_ROWS).toArray().length;
}

function accessorOf(treeId: string, { row, accessor }: StoredAccessor): string {
  return routedIdText(treeId, row, new Uint8Array(accessor));
}

/** The terms of `aged` in which a token was made: its text is hashed under that term. By the primary key. */
export function termsOfTokens(sql: SqlStorage, aged: readonly AgedTerm[]): number[] {
  const query = "SELECT 1 FROM tokens WHERE row >= ? AND row < ? LIMIT 1";
  const made = aged.filter(
    ({ from, until }) => sql.exec(query, firstRowAt(from), firstRowAt(until + 1)).toArray().length > 0,
  );
  return made.map(({ version }) => version);
}

/** The terms of the next values in the cubbyhole after `from`, and where the next step continues; null at the end. */
export function termsOfValues(sql: SqlStorage, from: TreePosition) {
  if (!isMade(sql, "cubbyhole")) return { terms: [], next: null };
  const query = `SELECT row, path, substr(value, 1, 2) AS head FROM cubbyhole
    WHERE (row, path) > (?, ?) ORDER BY row, path LIMIT ${TIDY_ROWS}`;
  type Found = { row: number; path: string; head: ArrayBuffer };
  const rows = sql.exec<Found>(query, from.after, from.path ?? "").toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row, path: last.path } : null };
}

/** The terms of the data of the next leases after `from`, and where the next step continues; null at the end. */
export function termsOfLeaseData(sql: SqlStorage, from: TreePosition) {
  if (!isMade(sql, "leases")) return { terms: [], next: null };
  const query = `SELECT row, substr(data, 1, 2) AS head FROM leases WHERE row > ? ORDER BY row LIMIT ${TIDY_ROWS}`;
  const rows = sql.exec<{ row: number; head: ArrayBuffer | null }>(query, from.after).toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row } : null };
}

/** The terms of texts that `sealText` has sealed: the first two bytes. */
function termsOf(rows: readonly { readonly head: ArrayBuffer | null }[]): number[] {
  return [...new Set(rows.flatMap(({ head }) => (head ? [new DataView(head).getUint16(0)] : [])))];
}
