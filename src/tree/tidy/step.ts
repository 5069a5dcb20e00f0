import type { AgedTerm } from "../../crypto/key-ring.ts";
import type { ListedClaim } from "../../listing/inventory/entry.ts";
import type { CustomIdEntry } from "../custom-ids.ts";
import type { TreeRepairs } from "./report.ts";

/** Cursor of a tidy run in the rows of a tree: it continues after this row number of a table. */
export interface TreePosition {
  readonly table: "tokens" | "cubbyhole" | "leases" | "values" | "lease data";
  readonly after: number;
  /** Path of the value that was read last, because one token can have several. */
  readonly path?: string;
}

/** An entry of the directory of custom ids that its tree checks. */
export type CustomIdClaim = Omit<CustomIdEntry, "treeId">;

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
  readonly repairs: TreeRepairs;
  /** Those of the aged terms that something here needs. */
  readonly terms: readonly number[];
  /** Where the next step continues; null when the tree is done. */
  readonly next: TreePosition | null;
}

/**
 * Minimum age (ms) of the row number of a token that tidy checks. A creation writes the token and its entries in other
 * objects at the same time, in any order; a creation in flight must not look like damage.
 */
export const SAFETY_AGE_MS = 600_000;
