import type { CheckedRows, RowKey, SealedTable } from "./sealed-table.ts";

/** Rows that one step checks: some ms, so that requests wait no longer than that. */
const STEP_ROWS = 200;

/** Where the next step goes on: in this table of the object, after this row. */
export interface SealPosition {
  readonly table: number;
  readonly after: RowKey;
}

/** What a step found, and where the next goes on; null when all rows were checked. */
export interface SealStep extends CheckedRows {
  readonly next: SealPosition | null;
}

/** The part of a table that a check needs. */
type CheckedTable = Pick<SealedTable<Record<string, SqlStorageValue>>, "rowsAfter" | "check" | "keyOf">;

/** The answer of an object without rows. */
export const NOTHING_TO_CHECK: SealStep = { sealed: 0, tampered: 0, terms: [], next: null };

/**
 * Checks the seals of the rows of an object, a bounded step at a time, and seals those that lack one or have an old one.
 *
 * @param from null for the first step.
 */
export function checkSeals(tables: readonly CheckedTable[], from: SealPosition | null): SealStep {
  let sealed = 0;
  let tampered = 0;
  const terms = new Set<number>();
  let room = STEP_ROWS;
  for (let number = from?.table ?? 0; number < tables.length; number++) {
    const table = tables[number];
    if (!table) break;
    const rows = table.rowsAfter(number === from?.table ? from.after : null, room);
    const checked = table.check(rows);
    sealed += checked.sealed;
    tampered += checked.tampered;
    for (const term of checked.terms) terms.add(term);
    room -= rows.length;
    const last = rows.at(-1);
    if (room === 0 && last)
      return { sealed, tampered, terms: [...terms], next: { table: number, after: table.keyOf(last) } };
  }
  return { sealed, tampered, terms: [...terms], next: null };
}
