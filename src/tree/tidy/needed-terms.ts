import type { AgedTerm } from "../../crypto/key-terms.ts";
import { firstRowAt } from "../../token/ids.ts";
import { isMade, TIDY_ROWS } from "./damage.ts";
import type { TreePosition } from "./step.ts";

/**
 * The terms of `aged` in which a token of the tree was made: its text is hashed under that term. By the primary key.
 */
export function termsOfTokens(sql: SqlStorage, aged: readonly AgedTerm[]): number[] {
  return aged
    .filter(
      ({ from, until }) =>
        sql
          .exec("SELECT 1 FROM tokens WHERE row >= ? AND row < ? LIMIT 1", firstRowAt(from), firstRowAt(until + 1))
          .toArray().length > 0,
    )
    .map(({ version }) => version);
}

/** The terms of the next values in the cubbyhole after `from`, and where the next step continues; null at the end. */
export function termsOfValues(sql: SqlStorage, from: TreePosition) {
  if (!isMade(sql, "cubbyhole")) return { terms: [], next: null };
  const rows = sql
    .exec<{ row: number; path: string; head: ArrayBuffer }>(
      `SELECT row, path, substr(value, 1, 2) AS head FROM cubbyhole
       WHERE (row, path) > (?, ?) ORDER BY row, path LIMIT ${TIDY_ROWS}`,
      from.after,
      from.path ?? "",
    )
    .toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row, path: last.path } : null };
}

/** The terms of the data of the next leases after `from`, and where the next step continues; null at the end. */
export function termsOfLeaseData(sql: SqlStorage, from: TreePosition) {
  if (!isMade(sql, "leases")) return { terms: [], next: null };
  const rows = sql
    .exec<{ row: number; head: ArrayBuffer | null }>(
      `SELECT row, substr(data, 1, 2) AS head FROM leases WHERE row > ? ORDER BY row LIMIT ${TIDY_ROWS}`,
      from.after,
    )
    .toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row } : null };
}

/** Reads the terms of texts that `sealText` has sealed: the first two bytes. */
function termsOf(rows: readonly { readonly head: ArrayBuffer | null }[]): number[] {
  const terms = rows.flatMap(({ head }) => (head ? [new DataView(head).getUint16(0)] : []));
  return [...new Set(terms)];
}
