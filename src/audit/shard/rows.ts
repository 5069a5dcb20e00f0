import type { Ms } from "../../base/clock.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText } from "../../crypto/sealed-data.ts";
import type { Sql } from "../../storage/tables.ts";
import { RowText } from "../batch-text.ts";

/** Context in which the records of a row are sealed. @param object id of the object. */
export function rowContext(object: string, firstSeq: number): string {
  return `audit batch ${object} ${firstSeq}`;
}

/** Context in which the address of uses is sealed. */
export function addressContext(object: string, key: number): string {
  return `audit address ${object} ${key}`;
}

/** An opened row. */
export interface OpenedRow {
  readonly firstSeq: number;
  readonly count: number;
  readonly storedAt: Ms;
  /** null: its seal does not hold, or it has another number of records. */
  readonly text: RowText | null;
}

/** Opens the row that has this record; null when there is none. */
export async function openRowWith(sql: Sql, keys: Keys, object: string, seq: number): Promise<OpenedRow | null> {
  const query = `SELECT first_seq, count, at, sealed FROM batches WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1`;
  type Row = { first_seq: number; count: number; at: Ms; sealed: ArrayBuffer };
  const [row] = sql.exec<Row>(query, seq).toArray();
  if (!row || seq >= row.first_seq + row.count) return null;
  return openRow(keys, object, row);
}

/** Opens a row as it was read. `object`: name of the audit object, which the seal covers. */
export async function openRow(
  keys: Keys,
  object: string,
  row: { readonly first_seq: number; readonly count: number; readonly at: Ms; readonly sealed: ArrayBuffer },
): Promise<OpenedRow> {
  const { first_seq: firstSeq, count, at: storedAt } = row;
  const opened = await openText(keys, rowContext(object, firstSeq), new Uint8Array(row.sealed));
  const text = opened === null ? null : new RowText(opened);
  return { firstSeq, count, storedAt, text: text?.count === count ? text : null };
}
