import { addNumbers } from "../base/add-numbers.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { logInfo } from "../base/log.ts";
import { objectNamed } from "../base/object-stub.ts";
import { groveVersion } from "../base/version.ts";
import type { Env } from "../env.ts";
import { SAFETY_AGE_MS } from "../listing/inventory/entry.ts";
import type { Traffic } from "../metrics/traffic.ts";
import { type Migration, setColumns, storedJson, Tables } from "../storage/tables.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import { changeDelayMs } from "../system/copy-age.ts";
import { GroveObject } from "../system/grove-object.ts";
import { dropTerms, termsToDrop } from "../system/key-rotation.ts";
import { systemOf } from "../system/system.ts";
import type { TreePosition } from "../tree/tidy/tidy-step.ts";
import { FIRST_POSITION, FIRST_WITHOUT_ACCESSORS, type ListPosition, type ListRun, listStep } from "./check-lists.ts";
import { checkObjects } from "./check-objects.ts";
import { growLists } from "./grow-lists.ts";
import { HISTORY_MIGRATIONS, HistoryStore, type LiveCounts } from "./metrics-history.ts";
import { NO_REPORT, type ObjectCheck, type TidyReport } from "./report.ts";
import { SHARD_CHECK_MIGRATIONS, type ShardCheck, ShardCheckStore, startShardChecks } from "./shard-tidy.ts";
import { type PutBack, SystemMark } from "./system-rollback.ts";

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
  /** null while it is in progress. */
  readonly finishedAt: Ms | null;
}

/** In JSON: a `ListPosition`, a `TidyReport`, the terms `aged`, and the versions `needed`. */
type RunRow = {
  number: number;
  startedAt: Ms;
  finishedAt: Ms | null;
  position: string | null;
  report: string;
  aged: string;
  needed: string;
};

/** Pause between two steps. No client waits for tidy, so requests are served first. */
export const TIDY_PAUSE_MS: Ms = 25;
/** Pause after a failed step, for example because a shard did not answer. */
const RETRY_MS = 30_000;
const DUTY = "tidy";

const RUNNING = "finished_at IS NULL";
const FINISHED = "finished_at IS NOT NULL";

/**
 * Tidies the installation, a bounded step at a time. A run that a client requests covers everything: it pages through
 * the lists of accessors and of custom ids, and has each tree that they name check the entries and repair its own rows.
 * The position of a run is stored, so it survives restarts; every step may be repeated. Steps are performed by the
 * object's alarm alone, so two steps never overlap.
 *
 * The cron trigger starts the hourly run. It leaves the accessors to the checks of the shards (`ShardTidy`): it starts
 * these checks, covers the rest itself, and adds up what the checks have reported since the previous run.
 *
 * The platform can't list the trees that exist. So a tree is not found when no list has any of its tokens, which work
 * and end as usual, until one of them or of their children is listed again. Only the loss of a shard's rows leads to
 * this: an update of the lists that a crash loses is published again.
 */
export class Tidy extends GroveObject<Env> {
  readonly #shards: ShardCheckStore;
  readonly #history: HistoryStore;
  readonly #systemMark: SystemMark;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, TIDY_MIGRATIONS);
    this.#shards = new ShardCheckStore(new Tables(ctx.storage.sql, SHARD_CHECK_MIGRATIONS, "shard_checks"));
    this.#history = new HistoryStore(new Tables(ctx.storage.sql, HISTORY_MIGRATIONS, "history"));
    this.#systemMark = new SystemMark(ctx.storage.sql, this.seals);
    this.alarms.addJob(DUTY, {
      running: () => this.#read(RUNNING),
      step: (run) => this.#step(run),
      pauseMs: () => TIDY_PAUSE_MS,
      retryMs: () => RETRY_MS,
    });
  }

  /** Starts a run over everything. False when a run is in progress. Safe to repeat: it may find the run it started. */
  start(): Promise<boolean> {
    return this.#begin(FIRST_POSITION);
  }

  /** Starts the checks of the shards, opens a generation of shards if one is full, and starts the hourly run. */
  async startHourly(): Promise<void> {
    await this.keys.open();
    await startShardChecks(this.env);
    // A failure does not stop tidy: the next run tries again.
    await growLists(this.env, currentTime()).catch((error) => {
      console.error(JSON.stringify({ type: "growth of lists", error: String(error) }));
    });
    await this.#begin(FIRST_WITHOUT_ACCESSORS);
  }

  /** Stores the result of the check of a shard. Safe to repeat. */
  shardChecked(shard: number, check: ShardCheck): void {
    this.#shards.keep(shard, check);
  }

  /** Adds what an isolate counted at about `at` to the history. `live`: the installation's numbers, if it knows them. */
  keepHistory(at: Ms, traffic: Traffic, live: LiveCounts | null): void {
    this.#history.add(at, traffic, live, currentTime());
  }

  /** The history of the last day, the nodes of a cluster, and the release that this object runs. */
  history() {
    const now = currentTime();
    return { slots: this.#history.day(now), nodes: this.#history.nodes(), release: groveVersion(this.env) };
  }

  /** Records that a node of a cluster is up, and compares the System object with its mark. */
  async nodeSeen(name: string, release: string): Promise<void> {
    this.#history.see({ name, release, seenAt: currentTime() });
    await this.#compareSystem();
  }

  /** When the System object was found in an earlier state than before, in the last 30 days, the oldest first. */
  async systemPutBack(): Promise<PutBack[]> {
    await this.keys.open();
    return this.#systemMark.found(currentTime());
  }

  /** Forgets a node that is stopped on purpose. Safe to repeat. */
  nodeLeft(name: string): void {
    this.#history.forget(name);
  }

  /** Returns the run in progress, the last finished run, and a summary of the checks of the shards. */
  status() {
    return { running: this.#read(RUNNING), last: this.#read(FINISHED), shards: this.#shards.all() };
  }

  /** Starts a run at `position`. When one is in progress: returns false, and sets its alarm again if it was lost. */
  async #begin(position: ListPosition): Promise<boolean> {
    // Reads the mark, which renews its seal: the run may drop the key term of the old seal.
    await this.#compareSystem();
    const aged = this.#read(RUNNING) ? [] : await termsToDrop(this.env, currentTime());
    // Another call may have started one meanwhile.
    const begins = !this.#read(RUNNING);
    if (begins) {
      const number = (this.#read(FINISHED)?.number ?? 0) + 1;
      // Only the last of the previous runs is kept.
      this.tables.exec("DELETE FROM runs WHERE number < ?", number - 1);
      this.tables.exec("DELETE FROM tree_work");
      const columns = "number, started_at, position, report, aged, needed";
      const texts = [position, NO_REPORT, aged].map((value) => JSON.stringify(value));
      this.tables.exec(`INSERT INTO runs (${columns}) VALUES (?, ?, ?, ?, ?, '[]')`, number, currentTime(), ...texts);
      if (position.list !== FIRST_POSITION.list) this.#shards.leaveOut(number);
    }
    await (begins ? this.alarms.set() : this.alarms.restore());
    return begins;
  }

  /** Compares the revision of the System object with its mark. A failure stops nothing: the next time tries again. */
  async #compareSystem(): Promise<void> {
    try {
      await this.keys.open();
      const seen = this.#systemMark.seen();
      // The System object of 1.0.0-rc.1 has no revision.
      const revision = await systemOf(this.env).revision();
      const putBack = this.#systemMark.note(seen, revision, currentTime());
      if (putBack) console.error(JSON.stringify({ type: "storage put back", object: "System", ...putBack }));
    } catch (error) {
      console.error(JSON.stringify({ type: "tidy", object: "System", error: String(error) }));
    }
  }

  async #step(run: TidyRun): Promise<void> {
    const query = "SELECT tree_id AS treeId, position FROM tree_work";
    const trees = this.tables.exec<{ treeId: string; position: string }>(query);
    const work = Array.from(trees, ({ treeId, position }) => ({ treeId, from: storedJson<TreePosition>(position) }));
    if (work.length > 0 || run.position) return this.#save(work, await listStep(this.env, { ...run, work }));
    // Other objects come last, so that a failure in them repeats nothing of the above.
    const checks: ObjectCheck[] = [];
    for (const kind of this.env.kinds.credentials) checks.push(await kind.tidy(this.env, run.aged));
    checks.push(await checkObjects(this.env));
    let report = checks.reduce<TidyReport>(addNumbers, run.report);
    const aged = run.aged.map(({ version }) => version);
    const isLeftOut = this.#shards.isLeftOut(run.number);
    // A run that has read the accessors itself needs no check of a shard: this limits nothing.
    const covered = { since: Number.POSITIVE_INFINITY, tampered: 0, aged, needed: [] };
    const shards = isLeftOut ? this.#shards.together() : covered;
    if (report.failures === 0 && shards) {
      // Every tree has checked its rows, except for tokens that are too new to be checked.
      const known = Math.min(run.startedAt, shards.since) - SAFETY_AGE_MS;
      // The number of a watermark is never below the time of its creation, so times and numbers compare.
      const upTo = known - changeDelayMs(this.env);
      await systemOf(this.env).watermarksCleaned(null, upTo, currentTime());
    }
    // Nothing below a tampered row was checked, so it may need any term.
    if (report.failures === 0 && shards && report.tampered + shards.tampered === 0) {
      const needed = new Set([...run.needed, ...checks.flatMap(({ terms }) => terms), ...shards.needed]);
      const idle = aged.filter((version) => !needed.has(version) && shards.aged.includes(version));
      report = addNumbers(report, { termsDropped: await dropTerms(this.env, idle, currentTime()) });
    }
    if (isLeftOut) report = addNumbers(report, this.#shards.takeReports());
    const columns = { finished_at: currentTime(), report: JSON.stringify(report) };
    setColumns(this.tables, "runs", columns, "number = ?", run.number);
    logInfo(this.env, { type: "tidy", run: run.number, ...report });
  }

  /** Stores what a step has changed. `workBefore`: the unfinished trees before it. */
  #save(workBefore: ListRun["work"], { number, position, report, needed, work }: ListRun): void {
    const columns = { position: position && JSON.stringify(position), report: JSON.stringify(report) };
    setColumns(this.tables, "runs", { ...columns, needed: JSON.stringify(needed) }, "number = ?", number);
    for (const tree of workBefore) {
      if (!work.includes(tree)) this.tables.exec("DELETE FROM tree_work WHERE tree_id = ?", tree.treeId);
    }
    for (const tree of work.filter((one) => !workBefore.includes(one))) {
      const from = JSON.stringify(tree.from);
      this.tables.exec("INSERT INTO tree_work (tree_id, position) VALUES (?, ?)", tree.treeId, from);
    }
  }

  #read(condition: typeof RUNNING | typeof FINISHED): TidyRun | null {
    const query = `SELECT number, started_at AS startedAt, finished_at AS finishedAt, position, report, aged, needed
      FROM runs WHERE ${condition} ORDER BY number DESC LIMIT 1`;
    const [row] = this.tables.exec<RunRow>(query).toArray();
    if (!row) return null;
    return {
      ...row,
      position: row.position === null ? null : storedJson<ListPosition>(row.position),
      report: storedJson<TidyReport>(row.report),
      aged: storedJson<AgedTerm[]>(row.aged),
      needed: storedJson<number[]>(row.needed),
    };
  }
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: ["start", "history", "systemPutBack", "status"],
} as const;

export function tidyOf(env: Env): DurableObjectStub<Tidy> {
  return objectNamed(env, env.TIDY, "tidy", RULES);
}
