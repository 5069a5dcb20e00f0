import type { AgedTerm } from "../crypto/key-terms.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import { NO_REPORT, type TidyReport } from "../tree/tidy/report.ts";
import type { TreePosition } from "../tree/tidy/step.ts";
import type { ListPosition, ListRun } from "./list-run.ts";

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

/** A tidy run. Its unfinished trees are in a table of their own. */
export interface TidyRun extends Omit<ListRun, "work"> {
  /** ms; null while it is in progress. */
  readonly finishedAt: number | null;
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

  /** Stores a new run that begins at `now` (ms) and returns its number. Only the last of the previous runs is kept. */
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

  /** Returns the run in progress with its unfinished trees. */
  withWork(run: TidyRun): TidyRun & ListRun {
    const work = this.#tables
      .exec<{ tree_id: string; position: string }>("SELECT tree_id, position FROM tree_work")
      .toArray()
      .map(({ tree_id, position }) => ({ treeId: tree_id, from: storedJson<TreePosition>(position) }));
    return { ...run, work };
  }

  /** Stores what a step has changed. */
  save(before: ListRun, { number, position, report, needed, work }: ListRun): void {
    this.#tables.exec(
      "UPDATE runs SET position = ?, report = ?, needed = ? WHERE number = ?",
      position && JSON.stringify(position),
      JSON.stringify(report),
      JSON.stringify(needed),
      number,
    );
    for (const tree of before.work) {
      if (!work.includes(tree)) this.#tables.exec("DELETE FROM tree_work WHERE tree_id = ?", tree.treeId);
    }
    for (const tree of work.filter((one) => !before.work.includes(one))) {
      const from = JSON.stringify(tree.from);
      this.#tables.exec("INSERT INTO tree_work (tree_id, position) VALUES (?, ?)", tree.treeId, from);
    }
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
