import { shardCount } from "../listing/accessor-shards.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import { addToReport, NO_REPORT, type TidyReport } from "../tree/tidy/step.ts";
import type { ShardCheck } from "./shard-tidy.ts";

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
