import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { within } from "../base/location.ts";
import { logInfo } from "../base/log.ts";
import type { Env } from "../env.ts";
import { dropTerms, requireSeals, termsToDrop } from "../system/key-rotation.ts";
import { longestIgnoranceMs } from "../system/snapshot-age.ts";
import { systemOf } from "../system/system.ts";
import { reconcileTeams } from "../team/reconcile.ts";
import { addToReport, NO_REPORT, type TidyReport } from "../tree/tidy/report.ts";
import { SAFETY_AGE_MS } from "../tree/tidy/step.ts";
import { askTrees, type TreeTidyAnswer } from "./ask-trees.ts";
import { checkObjects } from "./check-objects.ts";
import { fillInventory, type ListPosition, readPage, removeGone } from "./lists.ts";
import { type TidyRun, TidyStore, type TreeWork } from "./tidy-store.ts";

/**
 * Time from the beginning of one run to that of the next, in ms: an hour, as the platform's cron. Trees keep themselves tidy; a
 * run finds what faults, restores and crashes left behind.
 */
export const TIDY_INTERVAL_MS = 3_600_000;

/** Pause between two steps, in ms. No client waits for tidy: requests come first. */
export const TIDY_PAUSE_MS = 25;
/** Trees that a step goes on in. */
const TREES_PER_STEP = 24;
/** Pause after a step that failed, for example because a shard did not answer. */
const RETRY_MS = 30_000;

/** What can be read about tidying. Times in ms. */
export interface TidyStatus {
  readonly running: TidyRun | null;
  readonly last: TidyRun | null;
  /** null when nothing is planned. */
  readonly nextAt: number | null;
}

/**
 * Tidies the whole installation, a bounded step at a time: it pages through the lists of accessors and of custom ids, and
 * lets each tree that they name judge the entries and repair its own rows. Where it stands is in its rows, so a run
 * survives restarts; every step may be repeated.
 *
 * A run begins when somebody asks for it, and an hour after the last one began by the object's own alarm, which every
 * platform has. The platform's cron, where there is one, only makes sure that the alarm was not lost.
 *
 * No object can be asked which trees exist. A tree of whose tokens none is listed, neither by accessor nor by custom id, is
 * therefore not found: its tokens work and end as usual, they are just in no list, until one of them or of their
 * children is listed again. Creation hands no token out before it is listed, so this takes the loss of a shard's rows.
 */
export class Tidy extends DurableObject<Env> {
  readonly #store: TidyStore;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new TidyStore(ctx.storage.sql);
  }

  /** Begins a run. False when one is in progress. */
  async start(): Promise<boolean> {
    if (this.#store.running()) {
      await this.keepSchedule();
      return false;
    }
    const begun = await this.#begin();
    await this.ctx.storage.setAlarm(currentTime());
    return begun;
  }

  /** Makes sure that an alarm comes: for the run in progress, or for the next one. Safe to repeat. */
  async keepSchedule(): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) !== null) return;
    await this.ctx.storage.setAlarm(this.#nextAlarm(currentTime()));
  }

  /** How far the run in progress is, and what the last one did. */
  async status(): Promise<TidyStatus> {
    const running = this.#store.running();
    return { running, last: this.#store.lastFinished(), nextAt: running ? null : await this.ctx.storage.getAlarm() };
  }

  /** One step of the run in progress, or of the one that is due. */
  override async alarm(): Promise<void> {
    try {
      await this.#begin();
      const run = this.#store.running();
      if (run) await this.#step(run);
    } catch (error) {
      // The platform gives up after some retries of its own; a run must not.
      console.error(JSON.stringify({ type: "tidy", error: String(error) }));
      await this.ctx.storage.setAlarm(currentTime() + RETRY_MS);
      return;
    }
    await this.ctx.storage.setAlarm(this.#nextAlarm(currentTime()));
  }

  /** Begins a run. False when one is in progress. */
  async #begin(): Promise<boolean> {
    if (this.#store.running()) return false;
    const aged = await termsToDrop(this.env, currentTime());
    // Another call may have begun one meanwhile.
    if (this.#store.running()) return false;
    this.#store.begin(currentTime(), aged);
    return true;
  }

  #nextAlarm(now: number): number {
    if (this.#store.running()) return now + TIDY_PAUSE_MS;
    const last = this.#store.lastFinished();
    return Math.max(now, (last?.startedAt ?? now) + TIDY_INTERVAL_MS);
  }

  /** The next step of `run`: trees that a page has begun with come before the next page. */
  async #step(run: TidyRun): Promise<void> {
    const work = this.#store.treeWork(TREES_PER_STEP);
    if (work.length > 0) return this.#goOnInTrees(run, work);
    if (run.position) return this.#readOn(run, run.position);
    // Last, so that a fault in it repeats nothing of the above: the lists of teams and of their tokens.
    const teams = await reconcileTeams(this.env, run.aged);
    const objects = await checkObjects(this.env);
    let report = [teams, objects].reduce(
      (sum, { sealed, tampered, failures }) => addToReport(sum, { sealed, tampered, failures }),
      run.report,
    );
    // Every tree has been through its rows, except for tokens that are too new to be checked.
    if (report.failures === 0) {
      const known = run.startedAt - SAFETY_AGE_MS;
      await requireSeals(this.env, known);
      // A number is never below the time at which its watermark was made.
      const upTo = known - longestIgnoranceMs(this.env);
      await systemOf(this.env).watermarksCleaned(null, upTo, currentTime());
    }
    // What hangs on a row that was tampered with was not looked at.
    if (report.failures === 0 && report.tampered === 0) {
      const needed = new Set([...run.needed, ...teams.terms, ...objects.terms]);
      const idle = run.aged.map(({ version }) => version).filter((version) => !needed.has(version));
      report = addToReport(report, { termsDropped: await dropTerms(this.env, idle, currentTime()) });
    }
    this.#store.finish(run, report, currentTime());
    logInfo(this.env, { type: "tidy", run: run.number, ...report });
  }

  /** Lets the trees of a page say which of its entries have no token, and begin with their own rows. */
  async #readOn(run: TidyRun, position: ListPosition): Promise<void> {
    const page = await readPage(this.env, position, currentTime());
    const questions = [...page.claims].map(([treeId, claims]) => ({ treeId, from: null, ...claims }));
    const answers = await askTrees(this.env, run, questions);
    const removed = await removeGone(this.env, position, page, answers);
    await fillInventory(this.env, position, page);
    const report = { ...totals(questions.length, answers), ...page.examined, ...removed };
    this.#store.pageDone(run, page.next, workLeft(answers), { report, needed: neededTerms(answers) });
  }

  async #goOnInTrees(run: TidyRun, work: readonly TreeWork[]): Promise<void> {
    const questions = work.map((tree) => ({ ...tree, accessors: [], customIds: [] }));
    const answers = await askTrees(this.env, run, questions);
    const report = totals(work.length, answers);
    this.#store.treesDone(run, work, workLeft(answers), { report, needed: neededTerms(answers) });
  }
}

/** The coordinator of this installation. */
export function tidyOf(env: Env): DurableObjectStub<Tidy> {
  return within(env, env.TIDY).getByName("tidy");
}

function workLeft(answers: readonly TreeTidyAnswer[]): TreeWork[] {
  return answers.flatMap(({ treeId, next }) => (next ? [{ treeId, from: next }] : []));
}

/** @throws for an answer without terms, which an object of an older release gives: the step is repeated. */
function neededTerms(answers: readonly TreeTidyAnswer[]): number[] {
  return answers.flatMap(({ terms }) => [...terms]);
}

function totals(asked: number, answers: readonly TreeTidyAnswer[]): TidyReport {
  const start = { ...NO_REPORT, treeSteps: asked, failures: asked - answers.length };
  return answers.reduce((sum, { repairs }) => addToReport(sum, repairs), start);
}
