import { addNumbers } from "../base/add-numbers.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { objectNamed } from "../base/object-stub.ts";
import type { Env } from "../env.ts";
import { shardCount, shardNumbers } from "../listing/accessor-shards.ts";
import { type Migration, storedJson, type Tables, upsert } from "../storage/tables.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import { GroveObject } from "../system/grove-object.ts";
import { termsToDrop } from "../system/key-rotation.ts";
import { type ListRun, listStep } from "./check-lists.ts";
import { NO_REPORT, type TidyReport } from "./report.ts";

export const SHARD_TIDY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the shard that is checked, and where its check stands",
    sql: "CREATE TABLE progress (shard INTEGER PRIMARY KEY, state TEXT NOT NULL);",
  },
];

const HOUR_MS = 3_600_000;
/** Pause after a step that failed, for example because the shard did not answer. */
const RETRY_MS = 30_000;

/** Result of a check of the whole list of one shard. */
export interface ShardCheck {
  readonly startedAt: Ms;
  readonly finishedAt: Ms;
  readonly report: TidyReport;
  /** Versions of the terms of keys whose use the check looked for, and the versions that something needs. */
  readonly aged: readonly number[];
  readonly needed: readonly number[];
}

/** The check in progress, or null, and the number of the last one. */
interface Progress<Running = ListRun | null> {
  readonly shard: number;
  readonly running: Running;
  readonly lastNumber: number;
}

/** Name of the alarm's duty, and the type of its log lines. */
const DUTY = "tidy";

/**
 * Checks one shard of the list of accessors, a page at a time. The trees of the page report which of its entries have
 * no token, and repair their own rows. The hourly tidy run starts a check. The object's alarm performs each step and
 * uses a bounded share of the time. Each shard has its own check, so no object calls all trees. The shard itself only
 * returns pages, corrects entries and removes those without a token. The position of the check is one row, written
 * after each step: every step may be repeated.
 */
export class ShardTidy extends GroveObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, SHARD_TIDY_MIGRATIONS);
    this.alarms.addJob(DUTY, {
      running: () => {
        const progress = this.#read();
        return progress?.running ? { ...progress, running: progress.running } : null;
      },
      step: async (check) => {
        await this.#step(check).catch((error) => {
          throw new Error(`shard ${check.shard}: ${String(error)}`);
        });
      },
      pauseMs: (tookMs) => pauseForShare(tookMs, this.env.deployment.shareOfCheck(shardCount())),
      retryMs: () => RETRY_MS,
    });
  }

  /**
   * Begins a check of the shard, unless one is in progress: then its alarm is set again if it was lost. `aged`: terms
   * of keys whose use it looks for.
   */
  async start(shard: number, aged: readonly AgedTerm[] = []): Promise<void> {
    const { running = null, lastNumber = 0 } = this.#read() ?? {};
    if (running) return this.alarms.restore();
    const now = currentTime();
    // The checks of all shards that begin in the same hour have the same number.
    const number = Math.max(Math.floor(now / HOUR_MS), lastNumber + 1);
    const position = { list: "accessors", shard, after: "" } as const;
    const run: ListRun = { number, startedAt: now, position, work: [], report: NO_REPORT, aged, needed: [] };
    this.#write({ shard, running: run, lastNumber });
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
  }

  async #step({ shard, running, lastNumber }: Progress<ListRun>): Promise<void> {
    let run = running;
    if (run.work.length > 0 || run.position) {
      const next = await listStep(this.env, run);
      const isThrough = next.position?.list !== "accessors" || next.position.shard !== shard;
      run = isThrough ? { ...next, position: null } : next;
      this.#write({ shard, running: run, lastNumber });
      if (run.work.length > 0 || run.position) return;
    }
    const { number, startedAt, report, needed } = run;
    // Reported before it is recorded here: after a crash in between it is reported again, which changes nothing.
    const tidy = objectNamed(this.env, this.env.TIDY, "tidy", { repeated: [] });
    const aged = run.aged.map(({ version }) => version);
    await tidy.shardChecked(shard, { startedAt, finishedAt: currentTime(), report, aged, needed });
    this.#write({ shard, running: null, lastNumber: number });
  }

  #read(): Progress | null {
    const row = this.tables.exec<{ shard: number; state: string }>("SELECT * FROM progress").toArray()[0];
    return row ? { shard: row.shard, ...storedJson<Omit<Progress, "shard">>(row.state) } : null;
  }

  #write({ shard, ...state }: Progress): void {
    upsert(this.tables, "progress", ["shard"], { shard, state: JSON.stringify(state) });
  }
}

/** How a check is called in a cluster. */
const RULES = {
  repeated: ["checkSeals"],
} as const;

/** The object that checks the shard with this number. */
export function shardTidy(env: Env, shard: number): DurableObjectStub<ShardTidy> {
  return objectNamed(env, env.SHARD_TIDY, `accessors-${shard}`, RULES);
}

/** Starts a check of every shard. A shard whose start fails is tried again with the next call. */
export async function startShardChecks(env: Env): Promise<void> {
  const aged = await termsToDrop(env, currentTime());
  const started = await Promise.allSettled(shardNumbers().map((shard) => shardTidy(env, shard).start(shard, aged)));
  for (const [shard, { status }] of started.entries()) {
    if (status === "fulfilled") continue;
    console.error(JSON.stringify({ type: "tidy", shard, error: "its check could not be begun" }));
  }
}

/** Shortest and longest pause between two steps. */
const SHORTEST_MS = 25;
const LONGEST_MS = 60_000;

/**
 * Returns the pause after a step of `workedMs`, waiting included, that limits work to a share of the time. A step
 * that takes long because requests are served meanwhile has a long pause, so the check yields to them.
 */
export function pauseForShare(workedMs: Ms, share: number): Ms {
  const pause = Math.max(0, workedMs) * (1 / share - 1);
  return Math.min(Math.max(Math.ceil(pause), SHORTEST_MS), LONGEST_MS);
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

/** The last checks of all shards, which the coordinator of tidy stores. */
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

  /**
   * Summary. `checked`: shards that have been checked at least once. `since`: when the oldest of the last checks began;
   * null as long as one is missing. `failures` and `revived`: sums of the last checks.
   */
  all(checks = this.#read()) {
    const shards = shardCount();
    return {
      checked: checks.length,
      shards,
      since: checks.length >= shards ? Math.min(...checks.map(({ startedAt }) => startedAt)) : null,
      failures: checks.reduce((sum, { report }) => sum + report.failures, 0),
      // A report of 1.0.0-rc.1 does not have it.
      revived: checks.reduce((sum, { report }) => sum + (report.revived ?? 0), 0),
    };
  }

  /**
   * Combines the last checks; null when one is missing or a tree did not answer. `aged`: the terms that all of them
   * looked for. `needed`: the terms that any of them found in use.
   */
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
    const sum = this.#read("added = 0").reduce((all, { report }) => addNumbers(all, report), NO_REPORT);
    this.#tables.exec("UPDATE shard_checks SET added = 1 WHERE added = 0");
    return sum;
  }

  leaveOut(run: number): void {
    this.#tables.exec("DELETE FROM partial_runs");
    this.#tables.exec("INSERT INTO partial_runs (number) VALUES (?)", run);
  }

  isLeftOut(run: number): boolean {
    return this.#tables.exec("SELECT 1 FROM partial_runs WHERE number = ?", run).toArray().length > 0;
  }

  #read(condition: "TRUE" | "added = 0" = "TRUE"): Omit<ShardCheck, "finishedAt">[] {
    const query = `SELECT started_at AS startedAt, report, aged, needed FROM shard_checks WHERE ${condition}`;
    const rows = this.#tables.exec<{ startedAt: Ms; report: string; aged: string; needed: string }>(query);
    return Array.from(rows, ({ startedAt, report, aged, needed }) => ({
      startedAt,
      report: storedJson<TidyReport>(report),
      aged: storedJson<number[]>(aged),
      needed: storedJson<number[]>(needed),
    }));
  }
}
