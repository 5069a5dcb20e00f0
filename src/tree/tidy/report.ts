/** What a tidy run did to a tree, in numbers of rows. */
export interface TreeRepairs {
  /** Dead tokens that the tree had not swept yet. */
  readonly swept: number;
  /** Live tokens that were missing in the list of accessors. */
  readonly relisted: number;
  /** Live tokens of an auth mount that was disabled: they should not exist. */
  readonly revoked: number;
  /** Live tokens whose parent is gone. */
  readonly orphaned: number;
  /** Cubbyhole entries of no token. */
  readonly cubbyholeEntries: number;
  /** Leases of secrets of no token. */
  readonly leasesEnded: number;
  /** Rows that got a seal, or one of a newer term. */
  readonly sealed: number;
  /** Rows whose seal does not hold: they were written without the keys. They are refused, and stay for an investigation. */
  readonly tampered: number;
}

/** What a tidy run has looked at and repaired so far. */
export interface TidyReport extends TreeRepairs {
  readonly accessorsExamined: number;
  /** Accessors of no token. */
  readonly accessorsRemoved: number;
  readonly customIdsExamined: number;
  /** Entries in the directory of custom ids of no token. */
  readonly customIdsRemoved: number;
  /** Steps in trees. */
  readonly treeSteps: number;
  /** Trees that did not answer; the next run comes to them again. */
  readonly failures: number;
  /** Terms of keys that nothing needs any more. */
  readonly termsDropped: number;
}

/** Nothing done to a tree. */
export const NO_REPAIRS: TreeRepairs = {
  swept: 0,
  relisted: 0,
  revoked: 0,
  orphaned: 0,
  cubbyholeEntries: 0,
  leasesEnded: 0,
  sealed: 0,
  tampered: 0,
};

/** A run that has done nothing yet. */
export const NO_REPORT: TidyReport = {
  ...NO_REPAIRS,
  accessorsExamined: 0,
  accessorsRemoved: 0,
  customIdsExamined: 0,
  customIdsRemoved: 0,
  treeSteps: 0,
  failures: 0,
  termsDropped: 0,
};

/** `report` with what was done since. */
export function addToReport(report: TidyReport, more: Partial<TidyReport>): TidyReport {
  const sum: { -readonly [Name in keyof TidyReport]: number } = { ...report };
  for (const name of Object.keys(NO_REPORT) as (keyof TidyReport)[]) sum[name] += more[name] ?? 0;
  return sum;
}
