import { currentTime } from "../base/clock.ts";
import { within } from "../base/location.ts";
import { MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { ok, type Result } from "../base/result.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { MAX_ACCESSOR_SHARDS, shardNumbers } from "../listing/accessor-shard-number.ts";
import type { IndexPage } from "../listing/lease-index.ts";
import { publishRecent } from "../listing/updates/recent.ts";
import { maxSnapshotAgeMs } from "../system/copy-age.ts";
import { type EndRequest, UNASKED } from "../system/end-request.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { Mount } from "../system/mount.ts";
import { systemOf } from "../system/system.ts";
import { pathScope } from "../system/watermarks.ts";
import type { LeaseEnv } from "./env.ts";
import { notifyTrees } from "./notify-trees.ts";
import { countBelow } from "./queries.ts";
import { leaseIdOf } from "./record.ts";
import {
  type EndJob,
  type EndProgress,
  isMoving,
  type LeavingMount,
  type WalkFailure,
  type WalkJob,
  type WalkProgress,
} from "./walk-job.ts";
import {
  LEASE_WALK_MIGRATIONS,
  PASS_START,
  type ShardPosition,
  type Walk,
  type WalkPosition,
  WalkStore,
  type WalkWatermark,
} from "./walk-store.ts";

/** Shards that one step asks, at once. */
const PARALLEL = MAX_PARALLEL_CALLS;
/** Leases that one step takes from each shard. */
const PAGE = 25;
/** Steps of one alarm: with a call to a tree for each lease, below the platform's limit of calls in one invocation. */
const STEPS_PER_ALARM = 6;
/** Trees that the steps of one alarm call at most. */
export const MAX_TREES_OF_ALARM = STEPS_PER_ALARM * PARALLEL * PAGE;
/** Groups of shards that there can be. Numbered so, a walk goes on where it was although a generation of shards opens meanwhile. */
const MAX_GROUPS = Math.ceil(MAX_ACCESSOR_SHARDS / PARALLEL);
/** The tokens of each group of shards, then the secrets of each. */
const PHASES = 2 * MAX_GROUPS;
/** How long a request waits for a walk before it is answered that the walk goes on without it. */
export const MAX_WAIT_MS = 20_000;
/** So much later than the answer (ms) the clean-up begins, about. */
const HEAD_START_MS = 100;
/** Pause before what could not be reached is tried again. */
const RETRY_MS = 15_000;
/** What the alarm does, and the type of its log lines. */
const DUTY = "lease walk";

/** Deletes what the auth method of a mount stored for it. Safe to repeat. */
export type EraseMount = (mount: Pick<Mount, "type" | "uuid">) => Promise<void>;

/**
 * Does something to every lease below a path prefix, in whatever trees they live: one object for each prefix, which walks the
 * shards of the index page by page and calls the trees. The place where it stands is stored, so a crash repeats one page.
 *
 * What is guaranteed: a walk meets every lease whose creation was answered before the walk's start was; of tokens without a
 * watermark those that were answered two seconds before, and all of them where one process serves everything. A lease that is
 * created while it goes on may be met or not; one that another walk has started for is met by that one. Starting again
 * before the end begins at the front.
 */
export class LeaseScanJob extends GroveObject<LeaseEnv> {
  readonly #store: WalkStore;
  readonly #waiting = new Set<(progress: WalkProgress) => void>();
  readonly #eraseMount: EraseMount;

  constructor(ctx: DurableObjectState, env: LeaseEnv, eraseMount: EraseMount) {
    super(ctx, env, LEASE_WALK_MIGRATIONS);
    this.#eraseMount = eraseMount;
    this.#store = new WalkStore(this.tables);
    this.alarms.add(DUTY, {
      dueAt: () => {
        const walk = this.#store.read();
        return walk && dueOf(walk);
      },
      run: () => this.#steps(),
      pauseMs: () => RETRY_MS,
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Starts a walk over what is listed, and waits at most `waitMs` for its end. From the answer on the walk happens, whatever
   * fails meanwhile. `asked` is kept with the end of tokens.
   */
  async start(job: WalkJob, asked: EndRequest, waitMs: number): Promise<WalkProgress> {
    this.#store.start({ ...job, mount: null, asked }, null);
    const end = waitMs > 0 ? this.#end(waitMs) : null;
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
    return end ?? { finished: false, failure: null };
  }

  /**
   * Ends tokens in constant time: from the answer on none of them is accepted by an isolate that knows the installation as of now.
   * Walks go through the index later, to revoke what is stored of them, and end the watermark's clean-up.
   *
   * @returns a refusal, after which nothing has happened.
   */
  async endTokens({ createdBefore, ...job }: EndJob): Promise<Result<null>> {
    const id = job.mount ? endIdOf(job.mount) : crypto.randomUUID();
    this.#store.start(job, { id, createdBefore, number: null, knownAt: 0, lastPass: false });
    this.alarms.pause(DUTY, HEAD_START_MS);
    await this.alarms.set();
    const walk = this.#store.read();
    const made = walk && (await this.#makeWatermark(walk));
    // The walk asks for it again and notes it, which the answer need not wait for.
    return made && !made.ok ? made : ok(null);
  }

  /** How far the walk is; null when none is under way. */
  progress(): EndProgress | null {
    const walk = this.#store.read();
    return walk && { seen: walk.progress.seen, total: walk.total };
  }

  /** Starts a walk unless one is under way. Returns whether it did. */
  async startUnlessRunning(job: WalkJob): Promise<boolean> {
    if (this.#store.read()) return false;
    await this.start(job, UNASKED, 0);
    return true;
  }

  /** Takes some steps of the walk. */
  async #steps(): Promise<void> {
    for (let step = 0; step < STEPS_PER_ALARM; step++) {
      const walk = this.#store.read();
      if (!walk || dueOf(walk) > currentTime()) return;
      const { mount, watermark, progress } = walk;
      const isAtStart = isPassStart(progress);
      if (watermark && watermark.number === null) {
        await this.#noteWatermark(walk, watermark);
        continue;
      }
      // Secrets in its configuration need not wait for the end of the walk.
      if (isAtStart && mount && !isMoving(mount) && !watermark?.lastPass) await this.#erase(mount);
      // Tokens that were just made may not be on the list yet.
      if (isAtStart) await publishRecent(this.env, currentTime());
      // The progress of the others is not shown.
      if (isAtStart && watermark && !watermark.lastPass) {
        this.#store.noteTotal(walk, await countBelow(this.env, walk.prefix));
      }
      if (progress.phase < PHASES) {
        await this.#step(walk);
        continue;
      }
      if (progress.incomplete) {
        this.#store.move(walk, PASS_START);
        return this.alarms.pause(DUTY, RETRY_MS);
      }
      if (watermark && !watermark.lastPass) {
        this.#store.noteWatermark(walk, { ...watermark, lastPass: true });
        this.#store.move(walk, { ...PASS_START, seen: progress.seen });
        continue;
      }
      // Also what a login that was under way has written.
      if (mount && !isMoving(mount)) await this.#erase(mount);
      if (watermark && watermark.number !== null) {
        const scope = pathScope(walk.prefix);
        await systemOf(this.env).watermarksCleaned(scope, watermark.number, currentTime());
      }
      await this.#finish(walk);
    }
  }

  /** Has the system make the watermark of a walk, and remembers it. Safe to repeat. */
  async #noteWatermark(walk: Walk, watermark: WalkWatermark): Promise<void> {
    const made = await this.#makeWatermark(walk);
    if (!made.ok) return;
    const knownAt = currentTime() + maxSnapshotAgeMs(this.env);
    this.#store.noteWatermark(walk, { ...watermark, number: made.value, knownAt });
  }

  /** Has the system make the watermark of a walk, which ends here when that is refused. Safe to repeat. Returns its number. */
  async #makeWatermark(walk: Walk): Promise<Result<number | null>> {
    const { mount, watermark, asked } = walk;
    if (!watermark) return ok(null);
    const { id, createdBefore } = watermark;
    const request = { id, scope: pathScope(walk.prefix), createdBefore, asked };
    const made = mount
      ? await this.#takeAway(mount, asked)
      : await systemOf(this.env).addWatermark(request, currentTime());
    if (!made.ok && this.#store.read()?.generation === walk.generation) await this.wipe();
    return made;
  }

  /** Has the system take a mount from its place, with a watermark for what it issued there. Safe to repeat. */
  #takeAway(mount: LeavingMount, asked: EndRequest): Promise<Result<number>> {
    const { path, uuid } = mount;
    const system = systemOf(this.env);
    if (!isMoving(mount)) return system.disableMount(path, uuid, asked, currentTime());
    const { id, issuer, to } = mount.move;
    return system.moveMount({ id, issuer, from: path, to, asked }, currentTime());
  }

  /** One page of each shard of a group. */
  async #step(walk: Walk): Promise<void> {
    const { progress } = walk;
    const kind = progress.phase < MAX_GROUPS ? "token" : "secret";
    const shards = shardsOfGroup(progress.phase % MAX_GROUPS);
    const pages = await Promise.all(
      shards.map((shard, at): Promise<IndexPage> | IndexPage => {
        const position = progress.shards?.[at] ?? null;
        if (position === "end") return { leases: [], next: null };
        return accessorShard(this.env, shard).leasesBelow(kind, walk.prefix, position, PAGE);
      }),
    );
    const leases = pages.flatMap((page) => page.leases);
    const answers = await notifyTrees(this.env, leases, walk);
    const unknown = new Set(answers.flatMap((answer) => answer.unknown.map(({ id }) => id)));
    await Promise.all(
      shards.map((shard, at) => {
        const ids = (pages[at]?.leases ?? []).map(({ id }) => id).filter((id) => unknown.has(id));
        if (ids.length === 0) return null;
        const index = accessorShard(this.env, shard);
        return kind === "token" ? index.remove(ids) : index.removeLeases(ids);
      }),
    );
    const next = pages.map((page): ShardPosition => page.next ?? "end");
    const atEnd = next.every((position) => position === "end");
    const failed = answers.map(({ failure }) => failure).find((failure) => failure !== null);
    const failure: WalkFailure | undefined = failed && {
      // Only those of secrets fail.
      leaseId: leaseIdOf({ path: failed.lease.path, tail: failed.lease.id }),
      number: progress.seen + leases.indexOf(failed.lease) + 1,
      error: failed.error,
    };
    this.#store.move(walk, {
      phase: atEnd ? phaseAfter(progress.phase) : progress.phase,
      shards: atEnd ? null : next,
      incomplete: progress.incomplete || answers.some(({ reached }) => !reached),
      seen: progress.seen + leases.length,
      failure: progress.failure ?? failure ?? null,
    });
  }

  async #erase({ uuid, type }: LeavingMount): Promise<void> {
    if (type !== undefined) await this.#eraseMount({ uuid, type });
  }

  /** Answers the callers that wait, and leaves nothing behind. */
  async #finish(walk: Walk): Promise<void> {
    if (this.#store.read()?.generation !== walk.generation) return;
    const { failure: met, seen } = walk.progress;
    const failure = met && { ...met, of: seen };
    for (const answer of this.#waiting) answer({ finished: true, failure });
    this.#waiting.clear();
    await this.wipe();
  }

  #end(waitMs: number): Promise<WalkProgress> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => answer({ finished: false, failure: null }), waitMs);
      const answer = (progress: WalkProgress): void => {
        clearTimeout(timer);
        this.#waiting.delete(answer);
        resolve(progress);
      };
      this.#waiting.add(answer);
    });
  }
}

/** When the next step is due (ms). The last pass begins as soon as every isolate knows the watermark. */
function dueOf({ watermark, progress }: Walk): number {
  return watermark?.lastPass && isPassStart(progress) ? watermark.knownAt : 0;
}

function isPassStart({ phase, shards }: WalkPosition): boolean {
  return phase === 0 && shards === null;
}

function shardsOfGroup(group: number): number[] {
  return shardNumbers().slice(group * PARALLEL, (group + 1) * PARALLEL);
}

/** Behind the last group of shards that there is, the first phase of the secrets, or the end. */
function phaseAfter(phase: number): number {
  const next = phase + 1;
  return shardsOfGroup(next % MAX_GROUPS).length > 0 ? next : Math.ceil(next / MAX_GROUPS) * MAX_GROUPS;
}

/**
 * How far the clean-up of a watermark is; null when none is under way.
 *
 * @param id of the watermark; that of a disabled mount is the mount's.
 */
export async function progressOfEnd(env: LeaseEnv, prefix: string, id: string): Promise<EndProgress | null> {
  const ofPrefix = await walkOf(env, { mode: "revoke", prefix }).progress();
  return ofPrefix ?? (await walkOfMount(env, id).progress());
}

/** The walk of a mount that is disabled, by its uuid, or of one that moves, by the id of the move. */
export function walkOfMount(env: LeaseEnv, id: string): ReturnType<LeaseEnv["LEASE_WALK"]["getByName"]> {
  return within(env, env.LEASE_WALK).getByName(`mount:${id}`);
}

/** The id of the watermark for what a mount issued at the place that it leaves. */
function endIdOf(mount: LeavingMount): string {
  return isMoving(mount) ? mount.move.id : mount.uuid;
}

/** The walk over `prefix`, of which there is one at a time. Tidying and revoking do not disturb each other. */
export function walkOf(env: LeaseEnv, job: WalkJob): ReturnType<LeaseEnv["LEASE_WALK"]["getByName"]> {
  return within(env, env.LEASE_WALK).getByName(`${job.mode === "tidy" ? "tidy" : "revoke"}:${job.prefix}`);
}
