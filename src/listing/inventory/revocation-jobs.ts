import { addNumbers } from "../../base/add-numbers.ts";
import { currentTime } from "../../base/clock.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { inGroups } from "../../base/parallel.ts";
import { failureOfPlatform, isDamaged } from "../../base/platform-errors.ts";
import { setColumns, storedJson } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { treeAt } from "../../token/tree-stub.ts";
import { keepEndedMs, type ListingEnv } from "../env.ts";
import { type CountState, countStep, isCounted } from "./count-selection.ts";
import {
  AT_END,
  type Expected,
  grownBeyond,
  type JobRow,
  type JobState,
  jobOf,
  type ListedJob,
  type PlannedStep,
  type RevocationJob,
  setAsideOf,
  TOKEN_REVOCATION_MIGRATIONS,
} from "./job-record.ts";
import { countRevoked } from "./queries.ts";
import { estimated, type PlannedEnds, sumOf, withRecords } from "./retried-step.ts";
import {
  byTree,
  isRoot,
  isSingleSelected,
  NOTHING_REVOKED,
  type RevokedInTree,
  type Selection,
  type SelectionPosition,
  selectedInTree,
  selectedTokens,
} from "./selection.ts";
import {
  afterPage,
  afterRetry,
  type FailedTree,
  isTooMuch,
  isTreeGivenUp,
  MAX_SET_ASIDE_TREES,
  type SetAsideTree,
  withoutTrees,
} from "./set-aside-trees.ts";

/** Name of the alarm's duty, and the type of its log lines. */
const DUTY = "token revocation";
/** Tokens that one step revokes. With a call to a tree for each it stays far below the platform's limit of calls. */
export const STEP = 200;
/** Pause between two steps, in which requests are served. */
const PAUSE_MS = 5;
const RETRY_MS = 5000;
/** Number of the newest jobs that are kept, of revocations and of dry runs each. */
const KEPT_JOBS = 100;
const MAX_FAILURES = 20;
/** Cause of a failure that is not one of the platform. */
const UNKNOWN_CAUSE = "a step failed: the log of the service has the error";

/** After this many failures in a row, a step estimates what it ended instead of waiting for the records. */
const MAX_UNCOUNTED = 10;

/**
 * Counts and revokes many tokens in steps, one job after the other; jobs that count come first. The position of a job
 * is in its row, written after each step. What a step will end is written before it: a step that is repeated after a
 * crash finds its tokens dead, and still counts them. A filter selects no token that is created later: the request
 * bounds it (`createdUpTo`) before the count, so that a job revokes what was counted. A tree that fails is set aside while
 * the job goes on with the others, and called again at the end.
 */
export class TokenRevocations extends GroveObject<ListingEnv> {
  /** True when the next step calls trees again that have just failed. */
  #waits = false;

  constructor(ctx: DurableObjectState, env: ListingEnv) {
    super(ctx, env, TOKEN_REVOCATION_MIGRATIONS);
    this.alarms.addJob(DUTY, {
      running: () => this.#next(),
      step: (job) => this.#goOn(job),
      pauseMs: () => (this.#waits ? RETRY_MS : PAUSE_MS),
      retryMs: () => RETRY_MS,
    });
    if (this.#next()) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Starts a job, which is durable once this returns, and returns its id. A complete `count` is not above `expected`:
   * the caller has checked that. `expected` null: a dry run, which only counts. Safe to repeat with the same `id`, which
   * is random.
   *
   * @param id absent: a Worker of an earlier release calls.
   */
  async start(
    selection: Selection,
    count: CountState,
    expected: Expected | null,
    id: string = crypto.randomUUID(),
  ): Promise<string> {
    if (this.#find(id)) {
      await this.goOn();
      return id;
    }
    const dry = expected === null ? 1 : 0;
    const now = currentTime();
    const ofJob: Selection = { ...selection, asked: { ...selection.asked, job: id } };
    const state = isCounted(count) ? "running" : "counting";
    const limits = [expected?.count ?? null, expected?.total ?? null];
    const insert = `INSERT INTO jobs (id, number, dry, state, selection, started_at, expected, expected_total, count,
        revoked, total, gone, spared, mismatched, failures)
      VALUES (?, (SELECT COALESCE(MAX(number), 0) + 1 FROM jobs), ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, '[]')`;
    this.tables.exec(insert, id, dry, state, JSON.stringify(ofJob), now, ...limits, JSON.stringify(count));
    const oldest = "SELECT number FROM jobs WHERE dry = ? ORDER BY number DESC LIMIT 1 OFFSET ?";
    const remove = `DELETE FROM jobs WHERE dry = ? AND finished_at IS NOT NULL AND number <= (${oldest})`;
    this.tables.exec(remove, dry, dry, KEPT_JOBS);
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
    return id;
  }

  /** Sets the alarm of a job again if it was lost. Safe to repeat. */
  async goOn(): Promise<void> {
    if (this.#next()) await this.alarms.restore();
  }

  /** Returns all kept revocations, the newest first. Dry runs are only found by their ids. */
  list(): ListedJob[] {
    // A row can be much larger than the listed job, so rows are read one by one.
    const rows = this.tables.exec<JobRow>("SELECT * FROM jobs WHERE dry = 0 ORDER BY number DESC");
    return Array.from(rows, (row) => {
      const { selection: _, tally: _tally, notEnded: left, ...listed } = jobOf(row);
      return { ...listed, notEnded: { count: left.count, tokens: [] } };
    });
  }

  /** The job with this id, or null. A client that waits for a job also sets its alarm again if it was lost. */
  async read(id: string): Promise<RevocationJob | null> {
    await this.alarms.renewLost();
    return this.#read(id);
  }

  /**
   * Stops a running job after its current step. Until that step is done, even if it has to be repeated, the job has not
   * finished. A step whose plan is not stored yet is not performed. Trees that were set aside are called once more,
   * because a call may have been done and only its answer lost. Revoked tokens stay revoked. Returns null when there is
   * no such job.
   */
  stop(id: string): RevocationJob | null {
    const row = this.#find(id);
    if (row?.finished_at === null) {
      if (row.step === null && setAsideOf(row).every(isTreeGivenUp)) this.#end(id, "stopped");
      else this.#change(id, { state: "stopped" });
    }
    return this.#read(id);
  }

  #read(id: string): RevocationJob | null {
    const row = this.#find(id);
    return row && jobOf(row);
  }

  async #goOn(job: JobRow): Promise<void> {
    this.#waits = false;
    try {
      await (job.state === "counting" ? this.#count(job) : this.#step(job));
    } catch (error) {
      this.#failed(job, causeOf(error));
      throw new Error(`job ${job.id}: ${String(error)}`);
    }
  }

  async #count(job: JobRow): Promise<void> {
    const selection = storedJson<Selection>(job.selection);
    const count = await countStep(this.env, selection, storedJson<CountState>(job.count), currentTime());
    this.#change(job.id, { count: JSON.stringify(count), failures: "[]" });
    if (!isCounted(count) || this.#find(job.id)?.state !== "counting") return;
    const expected = { count: job.expected, total: job.expected_total };
    if (job.dry === 1) this.#end(job.id, "counted");
    else if (grownBeyond(expected, count.tally)) this.#end(job.id, "refused");
    else this.#change(job.id, { state: "running" });
  }

  async #step(job: JobRow): Promise<void> {
    const selection = storedJson<Selection>(job.selection);
    const repeated = job.step === null ? null : storedJson<PlannedStep>(job.step);
    const step = repeated ?? (await this.#plan(selection, job));
    if (!repeated) {
      // A job that was stopped while the step was planned ends no more tokens: stop() has returned that it is stopped.
      const state = this.#find(job.id)?.state;
      if (state !== "running" && !(job.state === "stopped" && step.retries)) return;
      this.#change(job.id, { step: JSON.stringify(step) });
    }
    const { done, failed } = await this.#revoke(job, selection, step, repeated !== null || step.retries === true);
    const before = setAsideOf(job);
    const setAside = step.retries
      ? afterRetry(before, failed)
      : afterPage(before, byTree(step.accessors), step.ends, failed);
    const position = step.next ?? AT_END;
    const stored = setAside.length === 0 ? null : JSON.stringify(setAside);
    this.#change(job.id, { ...addNumbers(done, job), position, step: null, failures: "[]", set_aside: stored });
    const state = this.#find(job.id)?.state;
    if (state === "stopped") this.#end(job.id, "stopped");
    else if (state === "running") this.#endIfDone(job.id, position, setAside);
  }

  #endIfDone(id: string, position: string, setAside: readonly SetAsideTree[]): void {
    const open = setAside.filter((tree) => !isTreeGivenUp(tree));
    if (setAside.length - open.length > MAX_SET_ASIDE_TREES) this.#end(id, "failed");
    else if (position === AT_END && open.length === 0) this.#end(id, setAside.length > 0 ? "incomplete" : "done");
    else this.#waits = position === AT_END || isTooMuch(open);
  }

  async #plan(selection: Selection, job: JobRow): Promise<PlannedStep> {
    const { position, state } = job;
    const setAside = setAsideOf(job);
    const open = setAside.filter((tree) => !isTreeGivenUp(tree));
    if (position === AT_END || state === "stopped" || isTooMuch(open)) {
      const accessors = open.flatMap((tree) => tree.accessors);
      return { accessors, next: position, ends: open.flatMap(({ ends }) => ends), retries: true };
    }
    const from = position === null ? null : storedJson<SelectionPosition>(position);
    const { accessors, listed, next } = await selectedTokens(this.env, selection, from, STEP, currentTime());
    const skipped: FailedTree[] = setAside.filter(isTreeGivenUp);
    const singles = listed.filter((token) => isSingleSelected(token, selection));
    const others = withoutTrees(byTree(accessors, singles), skipped);
    const asked = await inGroups(others, async ([treeId, of]): Promise<PlannedEnds> => {
      const answer = await this.#orFailed(treeId, () => this.#revokeInTree(selection, treeId, of, true), skipped);
      return answer ? [[treeId, answer.revoked, answer.total]] : [];
    });
    const taken = singles.filter((token) => selection.includeRoot || !isRoot(token));
    const ends = taken.map(({ accessor }) => [decodeStoredId(accessor)?.treeId ?? "", 1, 1] as const);
    const planned = { accessors, next: next === null ? null : JSON.stringify(next), ends: [...asked.flat(), ...ends] };
    return skipped.length === 0 ? planned : { ...planned, skipped };
  }

  /** Calls a tree. null when it fails, which is then logged and one of `failed`. */
  async #orFailed<T>(treeId: string, ask: () => Promise<T>, failed: FailedTree[]): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      console.error(JSON.stringify({ type: DUTY, tree: treeId, error: String(error) }));
      failed.push({ treeId, cause: causeOf(error), isDamaged: isDamaged(error) });
      return null;
    }
  }

  /** Performs a step. `repeated`: it was started before, and that attempt may have ended tokens. */
  async #revoke(
    job: JobRow,
    selection: Selection,
    step: PlannedStep,
    repeated: boolean,
  ): Promise<{ readonly done: RevokedInTree; readonly failed: readonly FailedTree[] }> {
    const { accessors, ends, skipped = [] } = step;
    const failed: FailedTree[] = [...skipped];
    const unswept = new Set<string>();
    const mark = async ([treeId, of]: [string, string[]]): Promise<RevokedInTree> => {
      const ask = () => this.#revokeInTree(selection, treeId, of, false);
      return (await this.#orFailed(treeId, ask, failed)) ?? NOTHING_REVOKED;
    };
    const sweep = async ([treeId]: [string, string[]], { revoked, gone }: RevokedInTree): Promise<void> => {
      // The first attempt may have failed before the sweep, and only the sweep records what ended.
      if (revoked === 0 && !(repeated && gone > 0)) return;
      unswept.add(treeId);
      if (await treeAt(this.env, treeId).sweep()) unswept.delete(treeId);
    };
    const trees = withoutTrees(byTree(accessors), skipped);
    const answers = await this.env.deployment.pace.cleanUpTrees(trees, { mark, sweep });
    const sum = sumOf(answers);
    if (!repeated || sum.gone === 0) return { done: sum, failed };
    // Where no ends are kept, no record will tell what the first attempt ended.
    if (keepEndedMs(this.env) > 0 && storedJson<string[]>(job.failures).length < MAX_UNCOUNTED) {
      if (unswept.size > 0) throw new Error("what the first attempt ended can't be counted before it is swept");
      const recorded = await countRevoked(this.env, job.id, job.started_at, accessors);
      return { done: withRecords(sum, recorded), failed };
    }
    const treeIds = trees.map(([treeId]) => treeId);
    return { done: estimated(answers, treeIds, ends), failed };
  }

  #revokeInTree(selection: Selection, treeId: string, accessors: readonly string[], dry: boolean) {
    const { asked } = selection;
    const request = { ...selectedInTree(selection, treeId, accessors), dry, asked, sweptByCaller: true };
    return treeAt(this.env, treeId).revokeFiltered(request);
  }

  /** Records a failed step, which is repeated. After `MAX_FAILURES` in a row the job is given up. */
  #failed({ id, failures: before }: JobRow, cause: string): void {
    // A job that was stopped during the step may have finished. Then its failure changes nothing.
    if (this.#find(id)?.finished_at !== null) return;
    const failures = [...storedJson<string[]>(before), `${new Date(currentTime()).toISOString()}: ${cause}`];
    this.#change(id, { failures: JSON.stringify(failures) });
    if (failures.length >= MAX_FAILURES) this.#end(id, "failed");
  }

  #end(id: string, state: Exclude<JobState, "running" | "counting">): void {
    this.#change(id, { state, finished_at: currentTime() });
  }

  #change(id: string, columns: Readonly<Record<string, SqlStorageValue>>): void {
    setColumns(this.tables, "jobs", columns, "id = ?", id);
  }

  #next(): JobRow | null {
    // A client waits for a count, and a count is short.
    const first = (where: string) =>
      this.tables.exec<JobRow>(`SELECT * FROM jobs WHERE ${where} ORDER BY number LIMIT 1`).toArray()[0] ?? null;
    return first("state = 'counting'") ?? first("finished_at IS NULL");
  }

  #find(id: string): JobRow | null {
    return this.tables.exec<JobRow>("SELECT * FROM jobs WHERE id = ?", id).toArray()[0] ?? null;
  }
}

/** Says why a call failed, in words that hold nothing secret. */
function causeOf(error: unknown): string {
  const failure = failureOfPlatform(error);
  return failure?.code === "unavailable" ? failure.message : UNKNOWN_CAUSE;
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: ["list", "read", "start", "goOn", "stop"],
} as const;

/** Returns the stub of the object with the jobs of this installation. */
export function revocationsOf(env: ListingEnv): DurableObjectStub<TokenRevocations> {
  return objectNamed(env, env.TOKEN_REVOCATIONS, "revocations", RULES);
}
