import type { AgedTerm } from "../crypto/key-terms.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import { addToReport, NO_REPORT, type TidyReport } from "../tree/tidy/report.ts";
import type { TreePosition } from "../tree/tidy/step.ts";
import type { ListPosition } from "./lists.ts";

/** The schema of the coordinator of tidy runs. */
export const TIDY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "tidy runs, and the trees that the one in progress has more to do in",
    sql: `
      CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        started_at INTEGER NOT NULL,
        finished_at INTEGER,
        position TEXT,
        report TEXT NOT NULL,
        aged TEXT NOT NULL,
        needed TEXT NOT NULL
      );
      CREATE TABLE tree_work (tree_id TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
];

/** A tidy run. Times in ms. */
export interface TidyRun {
  readonly number: number;
  readonly startedAt: number;
  /** null while it is in progress. */
  readonly finishedAt: number | null;
  /** Where the lists are read next; null when all are read. */
  readonly position: ListPosition | null;
  readonly report: TidyReport;
  /** Terms of keys that are dropped at the end when the run finds nothing that needs them. */
  readonly aged: readonly AgedTerm[];
  /** Versions of the terms that the run has found to be needed so far. */
  readonly needed: readonly number[];
}

/** Findings and repairs of a step. */
export interface StepDone {
  readonly report: Partial<TidyReport>;
  /** Versions of terms that something needs. */
  readonly needed: readonly number[];
}

/** A tree that the run has not finished, and the position in its rows. */
export interface TreeWork {
  readonly treeId: string;
  readonly from: TreePosition;
}

interface RunRow extends Record<string, SqlStorageValue> {
  number: number;
  started_at: number;
  finished_at: number | null;
  position: string | null;
  report: string;
  aged: string;
  needed: string;
}

/** Stores the position and the report of tidy runs. */
export class TidyStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Returns the run in progress, or null. */
  running(): TidyRun | null {
    return this.#read("finished_at IS NULL");
  }

  /** Returns the last finished run, or null. */
  lastFinished(): TidyRun | null {
    return this.#read("finished_at IS NOT NULL");
  }

  /**
   * Stores a new run that begins at `now` (ms), at `position`. Of the previous runs only the last is kept. Returns its
   * number.
   *
   * @param aged terms of keys that are dropped at the end when the run finds nothing that needs them.
   */
  begin(now: number, position: ListPosition, aged: readonly AgedTerm[]): number {
    const number = (this.lastFinished()?.number ?? 0) + 1;
    this.#tables.exec("DELETE FROM runs WHERE number < ?", number - 1);
    this.#tables.exec("DELETE FROM tree_work");
    this.#tables.exec(
      "INSERT INTO runs (number, started_at, position, report, aged, needed) VALUES (?, ?, ?, ?, ?, '[]')",
      number,
      now,
      JSON.stringify(position),
      JSON.stringify(NO_REPORT),
      JSON.stringify(aged),
    );
    return number;
  }

  /** Marks `run` as finished at `now` (ms) and stores its whole report. */
  finish(run: TidyRun, report: TidyReport, now: number): void {
    const all = JSON.stringify(report);
    this.#tables.exec("UPDATE runs SET finished_at = ?, report = ? WHERE number = ?", now, all, run.number);
  }

  /** Returns at most `limit` trees that are not finished. */
  treeWork(limit: number): TreeWork[] {
    return this.#tables
      .exec<{ tree_id: string; position: string }>("SELECT tree_id, position FROM tree_work LIMIT ?", limit)
      .toArray()
      .map(({ tree_id, position }) => ({ treeId: tree_id, from: storedJson<TreePosition>(position) }));
  }

  /** Stores that a page is done, the position `next`, and the trees of the page that are not finished. */
  pageDone(run: TidyRun, next: ListPosition | null, left: readonly TreeWork[], done: StepDone): void {
    this.#tables.exec("UPDATE runs SET position = ? WHERE number = ?", next && JSON.stringify(next), run.number);
    this.#keep(left);
    this.#report(run, done);
  }

  /** Stores that a step is done in each of `trees`, and which of them are not finished (`left`). */
  treesDone(run: TidyRun, trees: readonly TreeWork[], left: readonly TreeWork[], done: StepDone): void {
    for (const { treeId } of trees) this.#tables.exec("DELETE FROM tree_work WHERE tree_id = ?", treeId);
    this.#keep(left);
    this.#report(run, done);
  }

  #keep(left: readonly TreeWork[]): void {
    for (const { treeId, from } of left) {
      this.#tables.exec(
        "INSERT OR REPLACE INTO tree_work (tree_id, position) VALUES (?, ?)",
        treeId,
        JSON.stringify(from),
      );
    }
  }

  #report(run: TidyRun, done: StepDone): void {
    const report = JSON.stringify(addToReport(run.report, done.report));
    const needed = JSON.stringify([...new Set([...run.needed, ...done.needed])]);
    this.#tables.exec("UPDATE runs SET report = ?, needed = ? WHERE number = ?", report, needed, run.number);
  }

  #read(condition: "finished_at IS NULL" | "finished_at IS NOT NULL"): TidyRun | null {
    const row = this.#tables
      .exec<RunRow>(`SELECT * FROM runs WHERE ${condition} ORDER BY number DESC LIMIT 1`)
      .toArray()[0];
    return row ? runOf(row) : null;
  }
}

function runOf(row: RunRow): TidyRun {
  return {
    number: row.number,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    position: row.position === null ? null : storedJson<ListPosition>(row.position),
    report: storedJson<TidyReport>(row.report),
    aged: storedJson<AgedTerm[]>(row.aged),
    needed: storedJson<number[]>(row.needed),
  };
}
