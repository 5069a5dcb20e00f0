import type { AnonymousCosts } from "../cases/anonymous.ts";
import type { Cascade } from "../cases/cascade.ts";
import type { ConsoleReport } from "../cases/console.ts";
import type { OperationCost } from "../cases/cost.ts";
import type { Ending } from "../cases/ending.ts";
import type { FileGrowth } from "../cases/files.ts";
import type { ForestReport } from "../cases/forest.ts";
import type { Growth } from "../cases/growth.ts";
import type { MixedLoad, Overload } from "../cases/mixed.ts";
import type { Comparison } from "../cases/operations.ts";
import type { Paging, TidyRun } from "../cases/tidy.ts";
import type { Machine } from "./machine.ts";

/** Everything that a run of the bench found. What was not asked for is absent. */
export interface Report {
  /** RFC 3339. */
  readonly date: string;
  readonly machine: Machine;
  /** The commit that was measured, "" outside of a repository. */
  readonly commit: string;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** The server of `--against`, "" without one. */
  readonly against: string;
  readonly operations?: readonly Comparison[];
  readonly cascade?: readonly Cascade[];
  readonly growth?: {
    readonly tree: readonly Growth[];
    readonly forest: readonly Growth[];
    readonly teams: readonly Growth[];
  };
  readonly load?: { readonly mixed: MixedLoad; readonly overload: Overload };
  readonly cost?: readonly OperationCost[];
  readonly anonymous?: AnonymousCosts;
  readonly files?: FileGrowth;
  readonly forest?: readonly ForestReport[];
  readonly ending?: readonly Ending[];
  readonly console?: readonly ConsoleReport[];
  readonly tidy?: { readonly runs: readonly TidyRun[]; readonly listing: Paging };
}
