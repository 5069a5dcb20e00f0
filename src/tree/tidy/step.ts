import type { AgedTerm } from "../../crypto/key-terms.ts";
import type { ListedClaim } from "../../listing/inventory/entry.ts";
import type { CustomIdEntry } from "../custom-ids.ts";
import type { TreeRepairs } from "./report.ts";

/** Where in its own rows a tree goes on tidying: after this row number of a table. */
export interface TreePosition {
  readonly table: "tokens" | "cubbyhole" | "leases" | "values" | "lease data";
  readonly after: number;
  /** Of the value that was read last, where one token has several. */
  readonly path?: string;
}

/** An entry of the directory of custom ids, as its tree is asked about it. */
export type CustomIdClaim = Omit<CustomIdEntry, "treeId">;

/** One bounded step of a tidy run in a tree. */
export interface TidyStep {
  /** Number of the run: a tree goes through its own rows once in each. */
  readonly run: number;
  /** null in the first step. */
  readonly from: TreePosition | null;
  /** What is listed as a token of this tree. */
  readonly accessors: readonly ListedClaim[];
  readonly customIds: readonly CustomIdClaim[];
  /** Terms of keys that may go when nothing needs them. Their values are only looked for when there are such terms. */
  readonly aged: readonly AgedTerm[];
}

/** What a tree found and did in one step. */
export interface TidyStepResult {
  /** Listed accessors without a token. */
  readonly goneAccessors: readonly string[];
  readonly goneCustomIds: readonly CustomIdClaim[];
  /** Listed accessors whose entry has another end. */
  readonly staleEntries: readonly string[];
  /** Those whose entry differs in what never changes: the list was tampered with. */
  readonly wrongEntries: readonly string[];
  readonly repairs: TreeRepairs;
  /** Those of the aged terms that something here needs. */
  readonly terms: readonly number[];
  /** Where the next step goes on; null when the tree is done. */
  readonly next: TreePosition | null;
}

/**
 * How old the row number of a token must be for tidy to check it, in ms. A creation writes the token and its entries
 * elsewhere side by side, in any order; one that is still at it must not look like damage.
 */
export const SAFETY_AGE_MS = 600_000;
