import type { CheckedRows, CheckedTable, RowKey } from "./row-seals.ts";

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

/** The answer of an object without rows. */
export const NOTHING_TO_CHECK: SealStep = { sealed: 0, tampered: 0, terms: [], next: null };

/**
 * Checks the seals of the rows of an object, a bounded step at a time, and seals those again whose seal is of an older term.
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
    const checked = table.checkAfter(number === from?.table ? from.after : null, room);
    sealed += checked.sealed;
    tampered += checked.tampered;
    for (const term of checked.terms) terms.add(term);
    room -= checked.count;
    if (room === 0 && checked.last)
      return { sealed, tampered, terms: [...terms], next: { table: number, after: checked.last } };
  }
  return { sealed, tampered, terms: [...terms], next: null };
}
