import { currentTime, LATE, type Ms, orLate } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { objectNamed } from "../base/object-stub.ts";
import { MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { accessorShard, MAX_ACCESSOR_SHARDS, shardNumbers } from "../listing/accessor-shards.ts";
import type { IndexedLease, IndexPage } from "../listing/lease-index.ts";
import { publishRecent } from "../listing/updates/publish.ts";
import { changeDelayMs } from "../system/copy-age.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { Mount } from "../system/mount.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../system/revocation-origin.ts";
import { systemOf } from "../system/system.ts";
import { pathScope } from "../system/watermarks.ts";
import { type AccessorCredential, decodeStoredId } from "../token/ids.ts";
import { treeAt } from "../token/tree-stub.ts";
import { leaseIdOf, type WalkAnswer } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import {
  type EndJob,
  type EndProgress,
  LEASE_WALK_MIGRATIONS,
  PASS_START,
  type ShardPosition,
  type Walk,
  type WalkFailure,
  type WalkJob,
  type WalkProgress,
  WalkStore,
  type WalkWatermark,
} from "./prefix-revocation-job.ts";
import { countBelow } from "./queries.ts";

/** Leases that one step reads from each shard. */
const PAGE = 25;
/** Even with a call to a tree for each lease, an alarm stays below the platform's limit of calls per invocation. */
const STEPS_PER_ALARM = 6;
export const MAX_TREES_OF_ALARM = STEPS_PER_ALARM * MAX_PARALLEL_CALLS * PAGE;
/** Phases are numbered with the maximum, so that a stored position stays valid when a generation of shards opens. */
const MAX_GROUPS = Math.ceil(MAX_ACCESSOR_SHARDS / MAX_PARALLEL_CALLS);
const PHASES = 2 * MAX_GROUPS;
/** Maximum time that a request waits for the end of a walk. */
export const MAX_WAIT_MS: Ms = 20_000;
/** Approximate delay between the answer and the start of the clean-up. */
const HEAD_START_MS = 100;
/** Pause before trees that did not answer are called again. */
const RETRY_MS = 15_000;
/** Name of the alarm's duty, and the type of its log lines. */
const DUTY = "lease walk";

/**
 * Processes every lease below a path prefix, in all trees. There is one object for each prefix. It walks the shards of
 * the index page by page and calls the trees. Its position is stored, so a crash repeats one page.
 *
 * Guarantees: a walk processes every lease of a secret whose creation was answered before the start of the walk was.
 * Tokens reach the index later: a walk without a watermark processes those whose creation was answered two seconds
 * before the start, and all of them where one process serves everything. A lease that is created during the walk may be
 * missed. A start during a walk restarts it at the beginning.
 */
export class LeaseWalk extends GroveObject<Env> {
  readonly #walk = new WalkStore(this.tables, this.seals);
  readonly #waiting = new Set<(progress: WalkProgress) => void>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, LEASE_WALK_MIGRATIONS);
    this.alarms.add(DUTY, {
      dueAt: () => {
        const walk = this.#walk.read();
        return walk && dueOf(walk);
      },
      run: () => this.#steps(),
      pauseMs: () => RETRY_MS,
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Starts a walk, which is durable then, and waits at most `waitMs`. `asked` is stored with the end of tokens. Safe to
   * repeat: a walk that is in progress begins again.
   */
  async start(job: WalkJob, asked: RevocationOrigin, waitMs: Ms): Promise<WalkProgress> {
    await this.keys.open();
    return this.#start(job, asked, waitMs);
  }

  /**
   * Ends tokens in constant time, by a watermark. Once this returns ok, no isolate with the current copy of the
   * installation accepts them; after a refusal nothing has changed. A walk over the index later revokes their rows and
   * then marks the watermark as cleaned. All attempts of a call make one watermark.
   */
  async endTokens({ createdBefore, ...job }: EndJob, { callId }: CallAttempt = {}): Promise<Result<null>> {
    const id = job.mount?.move?.id ?? job.mount?.uuid ?? callId ?? crypto.randomUUID();
    const watermark = { id, createdBefore, number: null, knownAt: 0, lastPass: false };
    await this.keys.open();
    const walk = this.#walk.start({ ...job, watermark });
    this.alarms.pause(DUTY, HEAD_START_MS);
    await this.alarms.set();
    // Its own one, although another call may have stored another walk by now, which can end less. The walk requests the
    // watermark again and stores its number. The answer need not wait for that.
    const made = await this.#makeWatermark(walk, watermark);
    return made.ok ? ok(null) : made;
  }

  /** Returns the progress of the walk; null when none is in progress. */
  async progress(): Promise<EndProgress | null> {
    await this.keys.open();
    const walk = this.#walk.read();
    return walk && { seen: walk.seen, total: walk.total };
  }

  /** Starts a walk unless one is in progress. Returns whether it did. Safe to repeat: it may find the walk it started. */
  async startUnlessRunning(job: WalkJob): Promise<boolean> {
    await this.keys.open();
    if (this.#walk.read()) return false;
    await this.#start(job, NO_ORIGIN, 0);
    return true;
  }

  async #start(job: WalkJob, asked: RevocationOrigin, waitMs: Ms): Promise<WalkProgress> {
    this.#walk.start({ ...job, mount: null, asked, watermark: null });
    const { promise, resolve } = Promise.withResolvers<WalkProgress>();
    this.#waiting.add(resolve);
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
    const progress = waitMs > 0 ? await orLate(promise, waitMs) : LATE;
    this.#waiting.delete(resolve);
    return progress === LATE ? { finished: false, failure: null } : progress;
  }

  /** Deletes everything that the auth method of a mount stored for it. Safe to repeat. */
  async #eraseMount(mount: Pick<Mount, "type" | "uuid">): Promise<void> {
    await this.env.kinds.methods.get(mount.type)?.erase(this.env, mount);
  }

  async #steps(): Promise<void> {
    for (let step = 0; step < STEPS_PER_ALARM; step++) {
      const walk = this.#walk.read();
      if (!walk || dueOf(walk) > currentTime()) return;
      const { mount, watermark } = walk;
      if (watermark && watermark.number === null) {
        const made = await this.#makeWatermark(walk, watermark);
        const knownAt = currentTime() + changeDelayMs(this.env);
        if (made.ok) this.#walk.change(walk, { watermark: { ...watermark, number: made.value, knownAt } });
      } else if (walk.phase < PHASES) await this.#step(isPassStart(walk) ? await this.#beginPass(walk) : walk);
      else if (walk.incomplete) {
        this.#walk.change(walk, PASS_START);
        return this.alarms.pause(DUTY, RETRY_MS);
      } else if (watermark && !watermark.lastPass) {
        this.#walk.change(walk, { ...PASS_START, seen: walk.seen, watermark: { ...watermark, lastPass: true } });
      } else {
        // Erased again: a login in flight may have written since.
        if (mount && !mount.move) await this.#eraseMount(mount);
        if (watermark && watermark.number !== null) {
          await systemOf(this.env).watermarksCleaned(pathScope(walk.prefix), watermark.number, currentTime());
        }
        await this.#finish(walk);
      }
    }
  }

  async #beginPass(walk: Walk): Promise<Walk> {
    const { mount, watermark } = walk;
    // Erased already here, because the configuration of the mount may contain secrets.
    if (mount && !mount.move && !watermark?.lastPass) await this.#eraseMount(mount);
    // Tokens that were just created may not be listed yet.
    await publishRecent(this.env, currentTime());
    // Without a watermark the progress is not shown, so the total is not needed.
    if (!watermark || watermark.lastPass) return walk;
    return this.#walk.change(walk, { total: await countBelow(this.env, walk.prefix) });
  }

  /**
   * Has the System object create a watermark for a walk, and disable or move its mount. Returns the number of the
   * watermark. A refusal ends the walk, unless it revokes without a watermark. Safe to repeat.
   */
  async #makeWatermark(walk: Walk, { id, createdBefore }: WalkWatermark): Promise<Result<number>> {
    const { prefix, mount, asked } = walk;
    const system = systemOf(this.env);
    const now = currentTime();
    const make = (): Promise<Result<number>> => {
      if (!mount) return system.addWatermark({ id, scope: pathScope(prefix), createdBefore, asked }, now);
      if (!mount.move) return system.disableMount(mount.path, mount.uuid, asked, now);
      return system.moveMount({ ...mount.move, from: mount.path, asked }, now);
    };
    const made = await make();
    if (!made.ok && walk.watermark && this.#walk.read()?.generation === walk.generation) await this.wipe();
    return made;
  }

  async #step(walk: Walk): Promise<void> {
    const kind = walk.phase < MAX_GROUPS ? "token" : "secret";
    const shards = shardsOfGroup(walk.phase % MAX_GROUPS);
    const pages = await Promise.all(
      shards.map((shard, at): Promise<IndexPage> | IndexPage => {
        const position = walk.shards?.[at] ?? null;
        if (position === "end") return { leases: [], next: null };
        return accessorShard(this.env, shard).leasesBelow(kind, walk.prefix, position, PAGE);
      }),
    );
    const leases = pages.flatMap((page) => page.leases).map(routed);
    const reports = await notifyTrees(this.env, kind, leases, walk);
    const unknown = new Set(reports.flatMap(({ unknown }) => unknown));
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
    const failed = reports.map(({ failure }) => failure).find((failure) => failure !== null);
    const failure: WalkFailure | undefined = failed && {
      leaseId: leaseIdOf({ path: failed.lease.path, tail: failed.lease.id }),
      number: walk.seen + leases.indexOf(failed.lease) + 1,
      error: failed.error,
    };
    this.#walk.change(walk, {
      phase: atEnd ? phaseAfter(walk.phase) : walk.phase,
      shards: atEnd ? null : next,
      incomplete: walk.incomplete || reports.some(({ reached }) => !reached),
      seen: walk.seen + leases.length,
      failure: walk.failure ?? failure ?? null,
    });
  }

  async #finish(walk: Walk): Promise<void> {
    if (this.#walk.read()?.generation !== walk.generation) return;
    const failure = walk.failure && { ...walk.failure, of: walk.seen };
    for (const answer of this.#waiting) answer({ finished: true, failure });
    this.#waiting.clear();
    await this.wipe();
  }
}

type RoutedLease = IndexedLease & AccessorCredential;

function routed(lease: IndexedLease): RoutedLease {
  const route = decodeStoredId(lease.id);
  if (!route) throw new Error("the index lists an id that names no tree");
  return { ...lease, ...route };
}

/** Result of the call of a walk to one tree. `reached`: false when it did not answer. */
interface TreeReport extends Pick<WalkAnswer, "hasDead"> {
  readonly reached: boolean;
  /** Ids of leases that the index lists and the tree does not have. */
  readonly unknown: readonly string[];
  /** The first lease whose revocation failed. Only revocations of secrets fail. */
  readonly failure: { readonly lease: RoutedLease; readonly error: string } | null;
}

/**
 * Calls the trees of these leases, all of one kind, for a walk, and has each sweep the tokens that this ended, few trees
 * at a time. With a watermark, only tokens that a watermark has ended are revoked; without one, all tokens are. Leases
 * of secrets are revoked in both cases. For `tidy` nothing is revoked. A tree that does not answer is reported as not
 * reached: it must not stop the walk for the others.
 */
async function notifyTrees(
  env: LeaseEnv,
  kind: IndexedLease["kind"],
  leases: readonly RoutedLease[],
  walk: Walk,
): Promise<TreeReport[]> {
  const purpose = { mode: walk.mode, watermark: walk.watermark?.number ?? null, asked: walk.asked };
  const mark = async ([treeId, inTree]: [string, RoutedLease[]]): Promise<TreeReport> => {
    const found = inTree.map(({ row, tail }) => ({ row, tail }));
    const byKind = kind === "token" ? { tokens: found, secrets: [] } : { tokens: [], secrets: found };
    try {
      const { hasDead, failures, ...answer } = await treeAt(env, treeId).walk(byKind, purpose);
      const unknownRows = kind === "token" ? answer.unknownTokens : answer.unknownSecrets;
      const unknown = inTree.filter(({ row }) => unknownRows.includes(row)).map(({ id }) => id);
      const [failed] = failures;
      const lease = inTree.find(({ row }) => row === failed?.row);
      return { reached: true, hasDead, unknown, failure: failed && lease ? { lease, error: failed.error } : null };
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", tree: treeId, error: String(error) }));
      return { reached: false, hasDead: false, unknown: [], failure: null };
    }
  };
  const sweep = async ([treeId]: [string, RoutedLease[]], { hasDead }: TreeReport): Promise<void> => {
    if (hasDead) await treeAt(env, treeId).sweep();
  };
  // Revocations of secrets wait for their targets, which are other services.
  const waitsElsewhere = kind === "secret";
  return env.deployment.pace.cleanUpTrees([...Map.groupBy(leases, ({ treeId }) => treeId)], {
    mark,
    sweep,
    waitsElsewhere,
  });
}

/** The last pass begins as soon as every isolate knows the watermark. */
function dueOf(walk: Walk): Ms {
  return walk.watermark?.lastPass && isPassStart(walk) ? walk.watermark.knownAt : 0;
}

function isPassStart({ phase, shards }: Walk): boolean {
  return phase === 0 && shards === null;
}

function shardsOfGroup(group: number): number[] {
  return shardNumbers().slice(group * MAX_PARALLEL_CALLS, (group + 1) * MAX_PARALLEL_CALLS);
}

/** Returns the next phase. After the last existing group of shards it is the first phase of the secrets, or the end. */
function phaseAfter(phase: number): number {
  const next = phase + 1;
  return shardsOfGroup(next % MAX_GROUPS).length > 0 ? next : Math.ceil(next / MAX_GROUPS) * MAX_GROUPS;
}

/** Progress of a clean-up; null without one. `id`: of the watermark; for a mount, its uuid or the id of its move. */
export async function progressOfEnd(env: LeaseEnv, prefix: string, id: string): Promise<EndProgress | null> {
  const ofPrefix = await prefixJob(env, { mode: "revoke", prefix }).progress();
  return ofPrefix ?? (await walkOfMount(env, id).progress());
}

/** How a walk is called in a cluster. */
const RULES = {
  repeated: ["progress", "start", "startUnlessRunning"],
} as const;

/** The object that walks for a mount. `id`: the uuid of a mount that is disabled, or the id of a move. */
export function walkOfMount(env: LeaseEnv, id: string): ReturnType<LeaseEnv["LEASE_WALK"]["getByName"]> {
  return objectNamed(env, env.LEASE_WALK, `mount:${id}`, RULES);
}

/** The object that walks over the prefix, one walk at a time. Tidy has an object of its own, apart from revocation. */
export function prefixJob(env: LeaseEnv, job: WalkJob): ReturnType<LeaseEnv["LEASE_WALK"]["getByName"]> {
  return objectNamed(env, env.LEASE_WALK, `${job.mode === "tidy" ? "tidy" : "revoke"}:${job.prefix}`, RULES);
}
