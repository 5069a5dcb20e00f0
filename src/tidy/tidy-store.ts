import type { AgedTerm } from "../crypto/key-ring.ts";
import { shardCount } from "../listing/accessor-shards.ts";
import { type Migration, setColumns, storedJson, type Tables } from "../storage/tables.ts";
import { addToReport, NO_REPORT, type TidyReport, type TreePosition } from "../tree/tidy/step.ts";
import type { ListPosition, ListRun } from "./list-run.ts";
import type { ShardCheck } from "./shard-tidy.ts";

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

type RunRow = Record<"number" | "startedAt", number> &
  Record<"report" | "aged" | "needed", string> & {
    finishedAt: number | null;
    position: string | null;
  };

export class TidyStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  running(): TidyRun | null {
    return this.#read("finished_at IS NULL");
  }

  lastFinished(): TidyRun | null {
    return this.#read("finished_at IS NOT NULL");
  }

  /** Stores a new run that begins at `now` (ms) and returns its number. Only the last of the previous runs is kept. */
  begin(now: number, position: ListPosition, aged: readonly AgedTerm[]): number {
    const number = (this.lastFinished()?.number ?? 0) + 1;
    this.#tables.exec("DELETE FROM runs WHERE number < ?", number - 1);
    this.#tables.exec("DELETE FROM tree_work");
    const statement =
      "INSERT INTO runs (number, started_at, position, report, aged, needed) VALUES (?, ?, ?, ?, ?, '[]')";
    const texts = [position, NO_REPORT, aged].map((value) => JSON.stringify(value));
    this.#tables.exec(statement, number, now, ...texts);
    return number;
  }

  /** Marks `run` as finished at `now` (ms) and stores its whole report. */
  finish(run: TidyRun, report: TidyReport, now: number): void {
    const all = JSON.stringify(report);
    this.#tables.exec("UPDATE runs SET finished_at = ?, report = ? WHERE number = ?", now, all, run.number);
  }

  /** Returns the run in progress with its unfinished trees. */
  withWork(run: TidyRun): TidyRun & ListRun {
    const query = "SELECT tree_id AS treeId, position FROM tree_work";
    const trees = this.#tables.exec<{ treeId: string; position: string }>(query);
    const work = Array.from(trees, ({ treeId, position }) => ({ treeId, from: storedJson<TreePosition>(position) }));
    return { ...run, work };
  }

  /** Stores what a step has changed. */
  save(before: ListRun, { number, position, report, needed, work }: ListRun): void {
    const columns = { position: position && JSON.stringify(position), report: JSON.stringify(report) };
    setColumns(this.#tables, "runs", { ...columns, needed: JSON.stringify(needed) }, "number = ?", number);
    for (const tree of before.work) {
      if (!work.includes(tree)) this.#tables.exec("DELETE FROM tree_work WHERE tree_id = ?", tree.treeId);
    }
    for (const tree of work.filter((one) => !before.work.includes(one))) {
      const from = JSON.stringify(tree.from);
      this.#tables.exec("INSERT INTO tree_work (tree_id, position) VALUES (?, ?)", tree.treeId, from);
    }
  }

  #read(condition: "finished_at IS NULL" | "finished_at IS NOT NULL"): TidyRun | null {
    const query = `SELECT number, started_at AS startedAt, finished_at AS finishedAt, position, report, aged, needed
      FROM runs WHERE ${condition} ORDER BY number DESC LIMIT 1`;
    const [row] = this.#tables.exec<RunRow>(query).toArray();
    return row
      ? {
          ...row,
          position: row.position === null ? null : storedJson<ListPosition>(row.position),
          report: storedJson<TidyReport>(row.report),
          aged: storedJson<AgedTerm[]>(row.aged),
          needed: storedJson<number[]>(row.needed),
        }
      : null;
  }
}

export const SHARD_CHECK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the last check of each shard, and the runs that left the shards to themselves",
    sql: `
      CREATE TABLE shard_checks (
        shard INTEGER PRIMARY KEY,
        started_at INTEGER NOT NULL,
        finished_at INTEGER NOT NULL,
        report TEXT NOT NULL,
        aged TEXT NOT NULL,
        needed TEXT NOT NULL,
        added INTEGER NOT NULL
      );
      CREATE TABLE partial_runs (number INTEGER PRIMARY KEY);
    `,
  },
];

interface ShardChecks {
  /** Shards that have been checked at least once. */
  readonly checked: number;
  readonly shards: number;
  /** When the oldest of their last checks began (ms); null as long as one is missing. */
  readonly since: number | null;
  /** Number of trees that did not answer in the last checks. */
  readonly failures: number;
}

export class ShardCheckStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Stores the last check of a shard. Safe to repeat. */
  keep(shard: number, { startedAt, finishedAt, report, aged, needed }: ShardCheck): void {
    this.#tables.exec(
      `INSERT INTO shard_checks (shard, started_at, finished_at, report, aged, needed, added) VALUES (?, ?, ?, ?, ?, ?, 0)
       ON CONFLICT (shard) DO UPDATE
       SET started_at = excluded.started_at, finished_at = excluded.finished_at, report = excluded.report,
         aged = excluded.aged, needed = excluded.needed, added = 0
       WHERE excluded.started_at <> started_at`,
      shard,
      startedAt,
      finishedAt,
      ...[report, aged, needed].map((value) => JSON.stringify(value)),
    );
  }

  all(checks = this.#read()): ShardChecks {
    const shards = shardCount();
    return {
      checked: checks.length,
      shards,
      since: checks.length >= shards ? Math.min(...checks.map(({ startedAt }) => startedAt)) : null,
      failures: checks.reduce((sum, { report }) => sum + report.failures, 0),
    };
  }

  /** Combines the last checks; null when one is missing or a tree did not answer. `aged`: of all, `needed`: of any. */
  together() {
    const checks = this.#read();
    const { since, failures } = this.all(checks);
    if (since === null || failures > 0) return null;
    return {
      since,
      tampered: checks.reduce((sum, { report }) => sum + report.tampered, 0),
      aged: (checks[0]?.aged ?? []).filter((version) => checks.every(({ aged }) => aged.includes(version))),
      needed: [...new Set(checks.flatMap(({ needed }) => needed))],
    };
  }

  /** Sums the reports of checks that no run has added to its own report yet, and marks them as added. */
  takeReports(): TidyReport {
    const sum = this.#read("added = 0").reduce((all, { report }) => addToReport(all, report), NO_REPORT);
    this.#tables.exec("UPDATE shard_checks SET added = 1 WHERE added = 0");
    return sum;
  }

  /** Marks the run with this number as one that leaves the accessors to the checks of the shards. */
  leaveOut(run: number): void {
    this.#tables.exec("DELETE FROM partial_runs");
    this.#tables.exec("INSERT INTO partial_runs (number) VALUES (?)", run);
  }

  /** True when the run with this number leaves the accessors to the checks of the shards. */
  isLeftOut(run: number): boolean {
    return this.#tables.exec("SELECT 1 FROM partial_runs WHERE number = ?", run).toArray().length > 0;
  }

  #read(condition: "TRUE" | "added = 0" = "TRUE"): Omit<ShardCheck, "finishedAt">[] {
    const query = `SELECT started_at AS startedAt, report, aged, needed FROM shard_checks WHERE ${condition}`;
    const rows = this.#tables.exec<{ startedAt: number; report: string; aged: string; needed: string }>(query);
    return Array.from(rows, ({ startedAt, report, aged, needed }) => ({
      startedAt,
      report: storedJson<TidyReport>(report),
      aged: storedJson<number[]>(aged),
      needed: storedJson<number[]>(needed),
    }));
  }
}
