import type { ListedClaim } from "../../listing/inventory/entry.ts";
import type { AgedTerm } from "../../system/aged-terms.ts";
import type { CustomIdEntry } from "../custom-ids.ts";

/** Numbers of rows that a tidy run has repaired in a tree: none yet. */
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

/** Cursor of a tidy run in the rows of a tree: it continues after this row number of a table. */
export interface TreePosition {
  readonly table: "tokens" | "cubbyhole" | "leases" | "values" | "lease data";
  readonly after: number;
  /** Path of the value that was read last, because one token can have several. */
  readonly path?: string;
}

type CustomIdClaim = Omit<CustomIdEntry, "treeId">;

/** One bounded step of a tidy run in a tree. */
export interface TidyStep {
  /** Number of the run: a tree goes through its own rows once in each. */
  readonly run: number;
  /** null in the first step. */
  readonly from: TreePosition | null;
  /** List entries that name a token of this tree. */
  readonly accessors: readonly ListedClaim[];
  readonly customIds: readonly CustomIdClaim[];
  /** Key terms to delete if nothing needs them. Without any, the sealed values of the tree are not read. */
  readonly aged: readonly AgedTerm[];
}

/** What a tree found and did in one step. */
export interface TidyStepResult {
  /** Listed accessors without a token. */
  readonly goneAccessors: readonly string[];
  readonly goneCustomIds: readonly CustomIdClaim[];
  /** Listed accessors whose entry has another expiry. */
  readonly staleEntries: readonly string[];
  /** Listed accessors whose entry differs in fields that never change: the list was tampered with. */
  readonly wrongEntries: readonly string[];
  /** Listed accessors of live tokens that have ended by the record of their shard. A tree of 1.0.0-rc.1 names none. */
  readonly revived?: readonly string[];
  readonly repairs: TreeRepairs;
  /** Versions of the aged terms that rows of this tree need. */
  readonly terms: readonly number[];
  /** Where the next step continues; null when the tree is done. */
  readonly next: TreePosition | null;
}
