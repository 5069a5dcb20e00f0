import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { inGroups, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type Migration, Schema } from "../storage/schema.ts";
import type { Mount } from "../system/mount.ts";
import { longestIgnoranceMs } from "../system/snapshot-age.ts";
import { systemOf } from "../system/system.ts";
import { pathScope } from "../system/watermarks.ts";
import { type AccessorCredential, decodeStoredId } from "../token/ids.ts";
import { treeOf } from "../tree/find-tree.ts";
import { ACCESSOR_SHARDS, accessorShard } from "../tree/index/accessor-shard.ts";
import type { IndexedLease, IndexPage, PagePosition } from "../tree/index/index-store.ts";
import type { WalkAnswer, WalkMode } from "../tree/leases/actions.ts";
import { leaseIdOf } from "../tree/leases/record.ts";

/** Shards that one step asks, at once. */
const PARALLEL = MAX_PARALLEL_CALLS;
/** Leases that one step takes from each shard. */
const PAGE = 25;
/** Steps of one alarm: with a call to a tree for each lease, below the platform's limit of calls in one invocation. */
const STEPS_PER_ALARM = 6;
const GROUPS_OF_SHARDS = Math.ceil(ACCESSOR_SHARDS / PARALLEL);
/** The tokens of each group of shards, then the secrets of each. */
const PHASES = 2 * GROUPS_OF_SHARDS;
/** How long a request waits for a walk before it is told that the walk goes on without it. */
export const MAX_WAIT_MS = 20_000;
/** Pause before what could not be reached is tried again. */
const RETRY_MS = 15_000;

/** A mount that leaves its place. */
export interface LeavingMount {
  /** With a slash at the end. */
  readonly path: string;
  readonly uuid: string;
  /** Its auth method. Absent in what was stored before this was noted. */
  readonly type?: string;
  /** Where it goes, under an id of that move's own; absent for one that is being disabled. */
  readonly move?: { readonly id: string; readonly to: string };
}

/** What to do with all leases below a path prefix. */
export interface WalkJob {
  readonly mode: WalkMode;
  /** Ends with a slash and means whole segments; "" means all. */
  readonly prefix: string;
}

/** Tokens that end at once, in constant time. */
export interface EndJob extends WalkJob {
  /** ms: those that were created before; null: all that were made before now. */
  readonly createdBefore: number | null;
  /** A mount that goes with what it issued. */
  readonly mount: LeavingMount | null;
}

/** How far the clean-up after tokens were ended is. */
export interface EndProgress {
  /** Entries of the index that it has met, in all passes. */
  readonly seen: number;
}

/** Deletes what the auth method of a mount stored for it. Safe to repeat. */
export type EraseMount = (mount: Pick<Mount, "type" | "uuid">) => Promise<void>;

/** A lease whose revocation failed, met as the `number`th. */
interface WalkFailure {
  readonly leaseId: string;
  readonly number: number;
  readonly error: string;
}

/** How far a walk came while somebody waited. */
export interface WalkProgress {
  readonly finished: boolean;
  /** The first failure, of as many leases as were met; null when there was none. */
  readonly failure: (WalkFailure & { readonly of: number }) | null;
}

/** The watermark whose stored tokens a walk revokes. */
interface WalkWatermark {
  /** Names it before the system has made it. */
  readonly id: string;
  readonly createdBefore: number | null;
  /** null until the system has made it. */
  readonly number: number | null;
  /** From this moment on (ms) nobody makes a token any more who does not know the watermark: the last pass begins then. */
  readonly knownAt: number;
  /** True in the last pass. */
  readonly lastPass: boolean;
}

export const LEASE_WALK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the walk that is under way",
    sql: `
      CREATE TABLE walk (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        generation INTEGER NOT NULL,
        mode TEXT NOT NULL,
        prefix TEXT NOT NULL,
        mount TEXT,
        unit INTEGER NOT NULL,
        position TEXT,
        incomplete INTEGER NOT NULL,
        seen INTEGER NOT NULL,
        failure TEXT
      );
    `,
  },
  {
    version: 2,
    description: "the watermark that a walk cleans up after",
    sql: "ALTER TABLE walk ADD COLUMN watermark TEXT;",
  },
];

interface WalkRow extends Record<string, SqlStorageValue> {
  /** Grows with every start, so that a step which began before a restart does not move the new walk. */
  generation: number;
  mode: string;
  prefix: string;
  /** JSON of a `LeavingMount`. */
  mount: string | null;
  /** Stored as `unit`. What is being walked: the tokens of each group of shards, then the secrets of each. */
  phase: number;
  /** JSON of a `Position` for each shard of the group; null: its beginning. */
  position: string | null;
  /** 1 when a tree could not be reached in this pass: another pass follows. */
  incomplete: number;
  /** Leases met. */
  seen: number;
  /** JSON of the failure of a `WalkProgress` without its total. */
  failure: string | null;
  /** JSON of a `WalkWatermark`; null: whatever is listed below the prefix is meant. */
  watermark: string | null;
}

/**
 * Does something to every lease below a path prefix, in whatever trees they live: one object for each prefix, which walks the
 * shards of the index page by page and tells the trees. The place where it stands is stored, so a crash repeats one page.
 *
 * What is guaranteed: a walk meets every lease whose creation was answered before the walk's start was. A lease that is
 * created while it goes on may be met or not; one that another walk has started for is met by that one. Starting again
 * before the end begins at the front.
 */
export class LeaseScanJob extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;
  readonly #waiting = new Set<(progress: WalkProgress) => void>();
  readonly #eraseMount: EraseMount;

  constructor(ctx: DurableObjectState, env: Env, eraseMount: EraseMount) {
    super(ctx, env);
    this.#eraseMount = eraseMount;
    this.#sql = ctx.storage.sql;
    this.#schema = new Schema(this.#sql, LEASE_WALK_MIGRATIONS);
  }

  /**
   * Starts a walk over what is listed, and waits at most `waitMs` for its end. From the answer on the walk happens, whatever
   * fails meanwhile.
   */
  async start(job: WalkJob, waitMs: number): Promise<WalkProgress> {
    this.#store({ ...job, mount: null }, null);
    const end = waitMs > 0 ? this.#end(waitMs) : null;
    await this.ctx.storage.setAlarm(currentTime());
    return end ?? { finished: false, failure: null };
  }

  /**
   * Ends tokens in constant time: from the answer on none of them is accepted by whoever knows the installation as of now.
   * Walks go through the index later, to revoke what is stored of them, and end the watermark's clean-up.
   *
   * @returns a refusal, after which nothing has happened.
   */
  async endTokens({ createdBefore, ...job }: EndJob): Promise<Result<null, Failure>> {
    const id = job.mount?.uuid ?? crypto.randomUUID();
    this.#store(job, { id, createdBefore, number: null, knownAt: 0, lastPass: false });
    await this.ctx.storage.setAlarm(currentTime());
    const walk = this.#walk();
    return walk ? this.#makeWatermark(walk) : ok(null);
  }

  /** How far the walk is; null when none is under way. */
  progress(): EndProgress | null {
    const walk = this.#walk();
    return walk && { seen: walk.seen };
  }

  /**
   * Starts the walk after which a mount is at another place. From the answer on it happens, whatever fails meanwhile; when it
   * is refused nothing happened.
   */
  async startMove(mount: LeavingMount & Required<Pick<LeavingMount, "move">>): Promise<Result<null, Failure>> {
    this.#store({ mode: "revoke", prefix: `auth/${mount.path}`, mount }, null);
    await this.ctx.storage.setAlarm(currentTime());
    const taken = await takeOutOfService(this.env, mount, mount.move);
    if (!taken.ok) await this.#clear();
    return taken;
  }

  #store(job: WalkJob & Pick<EndJob, "mount">, watermark: WalkWatermark | null): void {
    this.#schema.create();
    this.#sql.exec(
      `INSERT INTO walk (id, generation, mode, prefix, mount, watermark, unit, incomplete, seen)
       VALUES (1, 1, ?, ?, ?, ?, 0, 0, 0)
       ON CONFLICT (id) DO UPDATE SET
         generation = generation + 1,
         mode = CASE mode WHEN 'force' THEN mode ELSE excluded.mode END,
         mount = COALESCE(excluded.mount, mount),
         watermark = excluded.watermark,
         unit = 0, position = NULL, incomplete = 0, seen = 0, failure = NULL`,
      job.mode,
      job.prefix,
      job.mount && JSON.stringify(job.mount),
      watermark && JSON.stringify(watermark),
    );
  }

  /** Starts a walk unless one is under way. Returns whether it did. */
  async startUnlessRunning(job: WalkJob): Promise<boolean> {
    if (this.#walk()) return false;
    await this.start(job, 0);
    return true;
  }

  /** Takes some steps, and sets itself again until the walk is at its end. */
  override async alarm(): Promise<void> {
    let again: number | null;
    try {
      again = await this.#steps();
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", error: String(error) }));
      again = RETRY_MS;
    }
    if (again !== null) await this.ctx.storage.setAlarm(currentTime() + again);
  }

  /** Returns the pause before the next steps (ms); null at the end. */
  async #steps(): Promise<number | null> {
    for (let step = 0; step < STEPS_PER_ALARM; step++) {
      const walk = this.#walk();
      if (!walk) return null;
      const mount = walk.mount === null ? null : (JSON.parse(walk.mount) as LeavingMount);
      const watermark = watermarkOf(walk);
      const isAtStart = walk.phase === 0 && walk.position === null;
      if (mount && !mount.move && !watermark) {
        await this.#adoptMount(mount);
        continue;
      }
      if (watermark && watermark.number === null) {
        await this.#makeWatermark(walk);
        continue;
      }
      if (watermark?.lastPass && isAtStart && currentTime() < watermark.knownAt)
        return watermark.knownAt - currentTime();
      if (isAtStart && mount?.move && !(await takeOutOfService(this.env, mount, mount.move)).ok) {
        // Of a move that is refused nothing may happen.
        await this.#clear();
        continue;
      }
      if (walk.phase < PHASES) {
        await this.#step(walk);
        continue;
      }
      if (walk.incomplete) {
        this.#move(walk, { phase: 0, position: null, incomplete: 0, seen: 0, failure: null });
        return RETRY_MS;
      }
      if (watermark && !watermark.lastPass) {
        this.#noteWatermark(walk, { ...watermark, lastPass: true });
        this.#move(walk, { phase: 0, position: null, incomplete: 0, seen: walk.seen, failure: null });
        continue;
      }
      if (mount) await this.#leave(mount);
      if (watermark && watermark.number !== null) {
        const scope = pathScope(walk.prefix);
        await systemOf(this.env).watermarksCleaned(scope, watermark.number, currentTime());
      }
      await this.#finish(walk);
    }
    return 0;
  }

  /** Has the system make the watermark of a walk, and remembers it. Safe to repeat. */
  async #makeWatermark(walk: WalkRow): Promise<Result<null, Failure>> {
    const watermark = watermarkOf(walk);
    if (!watermark) return ok(null);
    const mount = walk.mount === null ? null : (JSON.parse(walk.mount) as LeavingMount);
    const { id, createdBefore } = watermark;
    const system = systemOf(this.env);
    const made = mount
      ? await system.disableMount(mount.path, mount.uuid, currentTime())
      : await system.addWatermark({ id, scope: pathScope(walk.prefix), createdBefore }, currentTime());
    if (!made.ok) {
      if (this.#walk()?.generation === walk.generation) await this.#clear();
      return made;
    }
    const knownAt = currentTime() + longestIgnoranceMs(this.env);
    this.#noteWatermark(walk, { ...watermark, number: made.value, knownAt });
    // Secrets in its configuration need not wait for the end of the walk.
    if (mount) await this.#erase(mount);
    return ok(null);
  }

  #noteWatermark({ generation }: WalkRow, watermark: WalkWatermark): void {
    if (!this.#schema.exists) return;
    this.#sql.exec("UPDATE walk SET watermark = ? WHERE generation = ?", JSON.stringify(watermark), generation);
  }

  /** A mount that was being disabled when walks had no watermarks: it goes as they go now. */
  async #adoptMount(mount: LeavingMount): Promise<void> {
    const stored = await systemOf(this.env).findMount(mount.path);
    if (stored?.uuid !== mount.uuid) return this.#clear();
    const { path, uuid, type } = stored;
    this.#store(
      { mode: "revoke", prefix: `auth/${path}`, mount: { path, uuid, type } },
      { id: uuid, createdBefore: null, number: null, knownAt: 0, lastPass: false },
    );
  }

  /** One page of each shard of a group. */
  async #step(walk: WalkRow): Promise<void> {
    const kind = walk.phase < GROUPS_OF_SHARDS ? "token" : "secret";
    const shards = shardsOfGroup(walk.phase % GROUPS_OF_SHARDS);
    const positions = walk.position === null ? [] : (JSON.parse(walk.position) as Position[]);
    const pages = await Promise.all(
      shards.map((shard, at): Promise<IndexPage> | IndexPage => {
        const position = positions[at] ?? null;
        if (position === "end") return { leases: [], next: null };
        return accessorShard(this.env, shard).leasesBelow(kind, walk.prefix, position, PAGE);
      }),
    );
    const leases = pages.flatMap((page) => page.leases);
    const answers = await this.#tellTrees(leases, walk);
    const unknown = new Set(answers.flatMap((answer) => answer.unknown.map(({ id }) => id)));
    await Promise.all(
      shards.map((shard, at) => {
        const ids = (pages[at]?.leases ?? []).map(({ id }) => id).filter((id) => unknown.has(id));
        if (ids.length === 0) return null;
        const index = accessorShard(this.env, shard);
        return kind === "token" ? index.remove(ids) : index.removeLeases(ids);
      }),
    );
    const next = pages.map((page): Position => page.next ?? "end");
    const atEnd = next.every((position) => position === "end");
    const failed = answers.map(({ failure }) => failure).find((failure) => failure !== null);
    const failure: WalkFailure | undefined = failed && {
      // Only those of secrets fail.
      leaseId: leaseIdOf({ path: failed.lease.path, tail: failed.lease.id }),
      number: walk.seen + leases.indexOf(failed.lease) + 1,
      error: failed.error,
    };
    this.#move(walk, {
      phase: atEnd ? walk.phase + 1 : walk.phase,
      position: atEnd ? null : JSON.stringify(next),
      incomplete: walk.incomplete || answers.some(({ reached }) => !reached) ? 1 : 0,
      seen: walk.seen + leases.length,
      failure: walk.failure ?? (failure ? JSON.stringify(failure) : null),
    });
  }

  /** The method's own data moves with its mount, or goes with it: also what a login that was under way has written. */
  async #leave(mount: LeavingMount): Promise<void> {
    await (mount.move ? systemOf(this.env).endMove(mount.move.id) : this.#erase(mount));
  }

  async #erase({ uuid, type }: LeavingMount): Promise<void> {
    if (type !== undefined) await this.#eraseMount({ uuid, type });
  }

  async #tellTrees(leases: readonly IndexedLease[], walk: WalkRow): Promise<TreeReport[]> {
    const byTree = new Map<string, RoutedLease[]>();
    for (const lease of leases) {
      const route = decodeStoredId(lease.id);
      if (!route) throw new Error("the index holds what leads nowhere");
      byTree.set(route.treeId, [...(byTree.get(route.treeId) ?? []), { lease, route }]);
    }
    return inGroups([...byTree], ([treeId, found]) => this.#tellTree(treeId, found, walk));
  }

  /** A tree that does not answer is left for another pass: it must not keep the walk from the others. */
  async #tellTree(treeId: string, found: readonly RoutedLease[], walk: WalkRow): Promise<TreeReport> {
    const of = (kind: string) =>
      found.filter(({ lease }) => lease.kind === kind).map(({ route: { row, tail } }) => ({ row, tail }));
    try {
      const known = { tokens: of("token"), secrets: of("secret") };
      const answer = await treeOf(this.env, treeId)?.walk(
        known,
        walk.mode as WalkMode,
        watermarkOf(walk)?.number ?? null,
      );
      return answer
        ? reportOf(found, answer)
        : { reached: true, unknown: found.map(({ lease }) => lease), failure: null };
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", tree: treeId, error: String(error) }));
      return { reached: false, unknown: [], failure: null };
    }
  }

  #walk(): WalkRow | null {
    return this.#schema.exists
      ? (this.#sql.exec<WalkRow>("SELECT *, unit AS phase FROM walk").toArray()[0] ?? null)
      : null;
  }

  /** Moves the walk on, unless it was started anew while the step was under way. */
  #move(walk: WalkRow, to: Pick<WalkRow, "phase" | "position" | "incomplete" | "seen" | "failure">): void {
    this.#sql.exec(
      "UPDATE walk SET unit = ?, position = ?, incomplete = ?, seen = ?, failure = ? WHERE generation = ?",
      to.phase,
      to.position,
      to.incomplete,
      to.seen,
      to.failure,
      walk.generation,
    );
  }

  /** Tells those who wait, and leaves nothing behind. */
  async #finish(walk: WalkRow): Promise<void> {
    if (this.#walk()?.generation !== walk.generation) return;
    const met = walk.failure === null ? null : (JSON.parse(walk.failure) as WalkFailure);
    const failure = met && { ...met, of: walk.seen };
    for (const tell of this.#waiting) tell({ finished: true, failure });
    this.#waiting.clear();
    await this.#clear();
  }

  async #clear(): Promise<void> {
    this.#schema.forget();
    await this.ctx.storage.deleteAll();
  }

  #end(waitMs: number): Promise<WalkProgress> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => tell({ finished: false, failure: null }), waitMs);
      const tell = (progress: WalkProgress): void => {
        clearTimeout(timer);
        this.#waiting.delete(tell);
        resolve(progress);
      };
      this.#waiting.add(tell);
    });
  }
}

function watermarkOf(walk: WalkRow): WalkWatermark | null {
  return walk.watermark === null ? null : (JSON.parse(walk.watermark) as WalkWatermark);
}

/** Where the walk of one shard stands. */
type Position = PagePosition | null | "end";

interface RoutedLease {
  readonly lease: IndexedLease;
  readonly route: AccessorCredential;
}

interface TreeReport {
  readonly reached: boolean;
  readonly unknown: readonly IndexedLease[];
  readonly failure: { readonly lease: IndexedLease; readonly error: string } | null;
}

function reportOf(found: readonly RoutedLease[], answer: WalkAnswer): TreeReport {
  const unknown = found.filter(({ lease, route }) =>
    (lease.kind === "token" ? answer.unknownTokens : answer.unknownSecrets).includes(route.row),
  );
  const failure = answer.failures[0];
  const failed = failure && found.find(({ lease, route }) => lease.kind === "secret" && route.row === failure.row);
  return {
    reached: true,
    unknown: unknown.map(({ lease }) => lease),
    failure: failed && failure ? { lease: failed.lease, error: failure.error } : null,
  };
}

/**
 * From here on a mount that moves serves nothing, and nothing that it issues is listed. Safe to repeat.
 *
 * @returns why the mount doesn't leave: the system decides, in one place, about all that want it to.
 */
async function takeOutOfService(
  env: Env,
  { path }: LeavingMount,
  move: NonNullable<LeavingMount["move"]>,
): Promise<Result<null, Failure>> {
  const issuer = await systemOf(env).beginMove(move.id, path, move.to);
  if (!issuer.ok) return issuer;
  const { value } = issuer;
  if (value === null) return ok(null);
  for (let group = 0; group < GROUPS_OF_SHARDS; group++) {
    await Promise.all(shardsOfGroup(group).map((shard) => accessorShard(env, shard).closeMount(value)));
  }
  return ok(null);
}

function shardsOfGroup(group: number): number[] {
  const first = group * PARALLEL;
  return Array.from({ length: Math.min(PARALLEL, ACCESSOR_SHARDS - first) }, (_, i) => first + i);
}

/**
 * How far the clean-up of a watermark is; null when none is under way.
 *
 * @param id of the watermark; that of a disabled mount is the mount's.
 */
export async function progressOfEnd(env: Env, prefix: string, id: string): Promise<EndProgress | null> {
  const ofPrefix = await walkOf(env, { mode: "revoke", prefix }).progress();
  return ofPrefix ?? (await walkOfMount(env, id).progress());
}

/** The walk of a move, which nobody else starts. */
export function walkOfMove(env: Env, id: string): ReturnType<Env["LEASE_WALK"]["getByName"]> {
  return env.LEASE_WALK.getByName(`move:${id}`);
}

/** The walk of a mount that is disabled. */
export function walkOfMount(env: Env, uuid: string): ReturnType<Env["LEASE_WALK"]["getByName"]> {
  return env.LEASE_WALK.getByName(`mount:${uuid}`);
}

/** The walk over `prefix`, of which there is one at a time. Tidying and revoking do not disturb each other. */
export function walkOf(env: Env, job: WalkJob): ReturnType<Env["LEASE_WALK"]["getByName"]> {
  return env.LEASE_WALK.getByName(`${job.mode === "tidy" ? "tidy" : "revoke"}:${job.prefix}`);
}
