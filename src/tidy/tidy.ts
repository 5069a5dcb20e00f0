import { currentTime } from "../base/clock.ts";
import { within } from "../base/location.ts";
import { logInfo } from "../base/log.ts";
import type { Env } from "../env.ts";
import { growLists } from "../listing/growth.ts";
import { Tables } from "../storage/tables.ts";
import { maxSnapshotAgeMs } from "../system/copy-age.ts";
import { GroveObject } from "../system/grove-object.ts";
import { dropTerms, termsToDrop } from "../system/key-rotation.ts";
import { systemOf } from "../system/system.ts";
import { reconcileTeams } from "../team/reconcile.ts";
import { addToReport } from "../tree/tidy/report.ts";
import { SAFETY_AGE_MS } from "../tree/tidy/step.ts";
import { checkObjects } from "./check-objects.ts";
import { TREES_PER_STEP, tidyPage, tidyTrees } from "./list-steps.ts";
import { FIRST_POSITION, FIRST_WITHOUT_ACCESSORS, type ListPosition } from "./lists.ts";
import { SHARD_CHECK_MIGRATIONS, ShardCheckStore, type ShardChecks } from "./shard-checks.ts";
import { type ShardCheck, startShardChecks } from "./shard-tidy.ts";
import { TIDY_MIGRATIONS, type TidyRun, TidyStore } from "./tidy-store.ts";

/** Pause between two steps, in ms. No client waits for tidy: requests come first. */
export const TIDY_PAUSE_MS = 25;
/** Pause after a step that failed, for example because a shard did not answer. */
const RETRY_MS = 30_000;
/** What the alarm does, and the type of its log lines. */
const DUTY = "tidy";

/** What can be read about tidying. Times in ms. */
export interface TidyStatus {
  readonly running: TidyRun | null;
  readonly last: TidyRun | null;
  readonly shards: ShardChecks;
}

/** Where a run has gone over the accessors itself. */
const COVERED_BY_RUN = { since: Number.POSITIVE_INFINITY, tampered: 0, aged: "all", needed: [] } as const;

/**
 * Tidies the installation, a bounded step at a time. A run that a client asks for goes over everything: it pages through the lists of
 * accessors and of custom ids, and lets each tree that they name judge the entries and repair its own rows. Where it stands is in
 * its rows, so a run survives restarts; every step may be repeated. The object's alarm carries a run from one step to the next, and
 * nothing else.
 *
 * The hourly run is begun by the cron trigger. It leaves the accessors to the checks of the shards (`ShardTidy`): it begins these,
 * goes over the rest, and adds up what they have reported since the run before.
 *
 * No object can be asked which trees exist. A tree of whose tokens none is listed, neither by accessor nor by custom id, is
 * therefore not found: its tokens work and end as usual, they are just in no list, until one of them or of their
 * children is listed again. Creation hands no token out before it is listed, so this takes the loss of a shard's rows.
 */
export class Tidy extends GroveObject<Env> {
  readonly #store: TidyStore;
  readonly #shards: ShardCheckStore;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, TIDY_MIGRATIONS);
    this.#store = new TidyStore(this.tables);
    this.#shards = new ShardCheckStore(new Tables(ctx.storage.sql, SHARD_CHECK_MIGRATIONS, "shard_checks"));
    this.alarms.add(DUTY, {
      dueAt: () => (this.#store.running() ? 0 : null),
      run: () => this.#goOn(),
      pauseMs: () => RETRY_MS,
    });
  }

  /** Begins a run over everything. False when a run is in progress. */
  start(): Promise<boolean> {
    return this.#begin(FIRST_POSITION);
  }

  /** Begins the hourly run, unless a run is in progress. Safe to repeat. */
  async startHourly(): Promise<void> {
    await this.keys.open();
    await startShardChecks(this.env);
    await growWhereFull(this.env);
    await this.#begin(FIRST_WITHOUT_ACCESSORS);
  }

  /** Records that a shard was checked, with the result. Safe to repeat. */
  shardChecked(shard: number, check: ShardCheck): void {
    this.#shards.keep(shard, check);
  }

  /** How far the run in progress is, and what the last one did. */
  async status(): Promise<TidyStatus> {
    return { running: this.#store.running(), last: this.#store.lastFinished(), shards: this.#shards.all() };
  }

  /** One step of the run in progress. */
  async #goOn(): Promise<void> {
    const run = this.#store.running();
    if (run) await this.#step(run);
    this.alarms.pause(DUTY, TIDY_PAUSE_MS);
  }

  /** Begins a run at `position`. When one is in progress: false, and its alarm is set again if it was lost. */
  async #begin(position: ListPosition): Promise<boolean> {
    const aged = this.#store.running() ? [] : await termsToDrop(this.env, currentTime());
    // Another call may have begun one meanwhile.
    const begins = !this.#store.running();
    if (begins) {
      const run = this.#store.begin(currentTime(), position, aged);
      if (position.list !== FIRST_POSITION.list) this.#shards.leaveOut(run);
    }
    await (begins ? this.alarms.set() : this.alarms.restore());
    return begins;
  }

  /** The next step of `run`: trees that a page has begun with come before the next page. */
  async #step(run: TidyRun): Promise<void> {
    const work = this.#store.treeWork(TREES_PER_STEP);
    if (work.length > 0) {
      const { left, done } = await tidyTrees(this.env, run, work);
      return this.#store.treesDone(run, work, left, done);
    }
    if (run.position) {
      const { next, left, done } = await tidyPage(this.env, run, run.position);
      return this.#store.pageDone(run, next, left, done);
    }
    // Last, so that a fault in it repeats nothing of the above: the lists of teams and of their tokens.
    const teams = await reconcileTeams(this.env, run.aged);
    const objects = await checkObjects(this.env);
    let report = [teams, objects].reduce(
      (sum, { sealed, tampered, failures }) => addToReport(sum, { sealed, tampered, failures }),
      run.report,
    );
    const shards = this.#shards.isLeftOut(run.number) ? this.#shards.together() : COVERED_BY_RUN;
    if (report.failures === 0 && shards) {
      // Every tree has been through its rows, except for tokens that are too new to be checked.
      const known = Math.min(run.startedAt, shards.since) - SAFETY_AGE_MS;
      // A number is never below the time at which its watermark was made.
      const upTo = known - maxSnapshotAgeMs(this.env);
      await systemOf(this.env).watermarksCleaned(null, upTo, currentTime());
    }
    // What hangs on a row that was tampered with was not looked at.
    if (report.failures === 0 && shards && report.tampered + shards.tampered === 0) {
      const needed = new Set([...run.needed, ...teams.terms, ...objects.terms, ...shards.needed]);
      const idle = run.aged
        .map(({ version }) => version)
        .filter((version) => !needed.has(version) && (shards.aged === "all" || shards.aged.includes(version)));
      report = addToReport(report, { termsDropped: await dropTerms(this.env, idle, currentTime()) });
    }
    if (this.#shards.isLeftOut(run.number)) {
      report = addToReport(report, this.#shards.newReports());
      this.#shards.added();
    }
    this.#store.finish(run, report, currentTime());
    logInfo(this.env, { type: "tidy", run: run.number, ...report });
  }
}

/** Tidy goes on when a shard does not say how large it is: it is asked again with the next run. */
async function growWhereFull(env: Env): Promise<void> {
  try {
    await growLists(env, currentTime());
  } catch (error) {
    console.error(JSON.stringify({ type: "growth of lists", error: String(error) }));
  }
}

/** The coordinator of this installation. */
export function tidyOf(env: Env): DurableObjectStub<Tidy> {
  return within(env, env.TIDY).getByName("tidy");
}
