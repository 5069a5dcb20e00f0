import type { CheckedPage, CheckedRows, CheckedTable, RowKey } from "./row-seals.ts";

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
  const pages: CheckedPage[] = [];
  let room = STEP_ROWS;
  for (let number = from?.table ?? 0; number < tables.length; number++) {
    const table = tables[number];
    if (!table) break;
    const page = table.checkAfter(number === from?.table ? from.after : null, room);
    pages.push(page);
    room -= page.count;
    if (room === 0 && page.last) return { ...joinedChecks(pages), next: { table: number, after: page.last } };
  }
  return { ...joinedChecks(pages), next: null };
}

/** What several checks found together. */
export function joinedChecks(checks: readonly CheckedRows[]): CheckedRows {
  return {
    sealed: checks.reduce((sum, { sealed }) => sum + sealed, 0),
    tampered: checks.reduce((sum, { tampered }) => sum + tampered, 0),
    terms: [...new Set(checks.flatMap(({ terms }) => terms))],
  };
}
