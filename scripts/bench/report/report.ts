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

/** Grove beside the server of `--against`. */
export interface Against {
  /** What that server says of itself. */
  readonly server: string;
  /** Those of the operations that it has. */
  readonly operations: readonly Comparison[];
}

/** What the parts of the bench find. */
export interface Figures {
  readonly operations: readonly Comparison[];
  /** Beside a server that writes no audit log, and beside one that does. */
  readonly against: Against;
  readonly "against-audited": Against;
  readonly cascade: readonly Cascade[];
  readonly growth: {
    readonly tree: readonly Growth[];
    readonly forest: readonly Growth[];
    readonly teams: readonly Growth[];
  };
  readonly load: { readonly mixed: MixedLoad; readonly overload: Overload };
  readonly cost: readonly OperationCost[];
  readonly anonymous: AnonymousCosts;
  readonly files: FileGrowth;
  readonly forest: readonly ForestReport[];
  readonly ending: readonly Ending[];
  readonly console: readonly ConsoleReport[];
  readonly tidy: { readonly runs: readonly TidyRun[]; readonly listing: Paging };
}

/** A part of the report: each may come from a run of its own. */
export type Part = keyof Figures;

/** How a part was measured. */
export interface PartRun {
  /** RFC 3339. */
  readonly date: string;
  /** The commit that was measured, "" outside of a repository. */
  readonly commit: string;
  readonly machine: Machine;
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** How long the whole part took (s). Absent in figures that were taken before this was noted. */
  readonly tookSeconds?: number;
}

/** The figures of some parts, each with its run. What was not measured is absent. */
export interface Report extends Partial<Figures> {
  readonly runs: Readonly<Partial<Record<Part, PartRun>>>;
}

/** All parts of `newer`, and of `kept` those that it lacks. */
export function mergeReports(kept: Report, newer: Report): Report {
  return { ...kept, ...newer, runs: { ...kept.runs, ...newer.runs } };
}
