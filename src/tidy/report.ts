import type { CheckedRows } from "../storage/row-seals.ts";
import { NO_REPAIRS } from "../tree/tidy/tidy-step.ts";

/** What a tidy run has checked and repaired so far, in numbers: nothing yet. */
export const NO_REPORT = {
  ...NO_REPAIRS,
  accessorsExamined: 0,
  /** Accessors that belonged to no token. */
  accessorsRemoved: 0,
  /** Live tokens that have ended by the records of the lists: their trees were put back to an earlier state. */
  revived: 0,
  customIdsExamined: 0,
  /** Entries in the directory of custom ids that belonged to no token. */
  customIdsRemoved: 0,
  treeSteps: 0,
  /** Trees that did not answer; the next run checks them again. */
  failures: 0,
  /** Deleted key terms, which nothing needed any more. */
  termsDropped: 0,
};

export type TidyReport = Readonly<typeof NO_REPORT>;

/** What a check of rows outside trees has found. Its other numbers are added to the report. */
export interface ObjectCheck extends CheckedRows {
  /** Number of objects that did not answer. */
  readonly failures: number;
}
