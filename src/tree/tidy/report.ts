/** What a tidy run did to a tree, in numbers of rows: nothing. */
export const NO_REPAIRS = {
  /** Dead tokens that the tree had not swept yet. */
  swept: 0,
  /** Live tokens that were missing in the list of accessors. */
  relisted: 0,
  /** Live tokens of an auth mount that was disabled: they should not exist. */
  revoked: 0,
  /** Live tokens whose parent is gone. */
  orphaned: 0,
  /** Cubbyhole entries that belonged to no token. */
  cubbyholeEntries: 0,
  /** Leases of secrets that belonged to no token. */
  leasesEnded: 0,
  /** Rows whose seal was renewed with a newer key term. */
  sealed: 0,
  /** Rows with an invalid seal: they were written without the keys. They are refused, and stay for an investigation. */
  tampered: 0,
};

export type TreeRepairs = Readonly<typeof NO_REPAIRS>;

/** What a tidy run has checked and repaired so far, in numbers: nothing yet. */
export const NO_REPORT = {
  ...NO_REPAIRS,
  accessorsExamined: 0,
  /** Accessors that belonged to no token. */
  accessorsRemoved: 0,
  customIdsExamined: 0,
  /** Entries in the directory of custom ids that belonged to no token. */
  customIdsRemoved: 0,
  /** Steps in trees. */
  treeSteps: 0,
  /** Trees that did not answer; the next run checks them again. */
  failures: 0,
  /** Deleted key terms, which nothing needed any more. */
  termsDropped: 0,
};

export type TidyReport = Readonly<typeof NO_REPORT>;

/** Returns `report` with the numbers of `more` added. */
export function addToReport(report: TidyReport, more: Partial<TidyReport>): TidyReport {
  const sum = { ...report };
  for (const name of Object.keys(NO_REPORT) as (keyof TidyReport)[]) sum[name] += more[name] ?? 0;
  return sum;
}
