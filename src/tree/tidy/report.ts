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
  /** Cubbyhole entries that belonged to no token. */
  readonly cubbyholeEntries: number;
  /** Leases of secrets that belonged to no token. */
  readonly leasesEnded: number;
  /** Rows whose seal was renewed with a newer key term. */
  readonly sealed: number;
  /** Rows with an invalid seal: they were written without the keys. They are refused, and stay for an investigation. */
  readonly tampered: number;
}

/** What a tidy run has checked and repaired so far, in numbers. */
export interface TidyReport extends TreeRepairs {
  readonly accessorsExamined: number;
  /** Accessors that belonged to no token. */
  readonly accessorsRemoved: number;
  readonly customIdsExamined: number;
  /** Entries in the directory of custom ids that belonged to no token. */
  readonly customIdsRemoved: number;
  /** Steps in trees. */
  readonly treeSteps: number;
  /** Trees that did not answer; the next run checks them again. */
  readonly failures: number;
  /** Deleted key terms, which nothing needed any more. */
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

/** Returns `report` with the numbers of `more` added. */
export function addToReport(report: TidyReport, more: Partial<TidyReport>): TidyReport {
  const sum: { -readonly [Name in keyof TidyReport]: number } = { ...report };
  for (const name of Object.keys(NO_REPORT) as (keyof TidyReport)[]) sum[name] += more[name] ?? 0;
  return sum;
}
