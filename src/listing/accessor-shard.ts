import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { isolates } from "../base/isolates.ts";
import { within } from "../base/location.ts";
import { inGroups } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { pendingAlarm } from "../storage/pending-alarm.ts";
import { type Migration, Schema } from "../storage/schema.ts";
import { reportTampering } from "../storage/tampering.ts";
import type { TokenAddress } from "../token/ids.ts";
import { ACCESSOR_SHARDS, accessorShardName, accessorShardNumber } from "./accessor-shard-number.ts";
import type { SingleTokenEnd } from "./expiry/single-token-end.ts";
import { SingleTokenWalk } from "./expiry/single-token-walk.ts";
import { describeListed } from "./inventory/describe.ts";
import type { InventoryEntry, ListedToken } from "./inventory/entry.ts";
import type { TokenFilter } from "./inventory/filter.ts";
import type { ListedClaim } from "./inventory/listed-claim.ts";
import type { GroupCount } from "./inventory/shard/counts.ts";
import { InventoryStore } from "./inventory/shard/inventory-store.ts";
import type { PageQuery, ShardCount, ShardPage } from "./inventory/shard/pages.ts";
import { INVENTORY_SQL } from "./inventory/shard/tables.ts";
import type { TreeSize } from "./inventory/shard/tree-size.ts";
import type { CountKind } from "./inventory/terms.ts";
import {
  type IndexPage,
  type IrrevocableLease,
  LEASE_INDEX_SQL,
  LeaseIndex,
  type LeaseKind,
  type LeaseLevel,
  LISTED,
  type PagePosition,
} from "./lease-index.ts";
import { noteFreed } from "./tree-ids/freed-trees.ts";
import { ALLOCATED_TREES_SQL, TreePool } from "./tree-ids/tree-pool.ts";
import type { ShardUpdates } from "./updates/shard-updates.ts";

export { ACCESSOR_SHARDS, accessorShardNumber, treeShardNumber } from "./accessor-shard-number.ts";

export const ACCESSOR_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description:
      "tokens and leases of this shard, the inventory, ids of trees that were handed out and of whose tokens none is known",
    sql: `${LEASE_INDEX_SQL} ${INVENTORY_SQL} ${ALLOCATED_TREES_SQL}`,
  },
];

/** Pause after an alarm's work that failed (ms). */
const RETRY_MS = 15_000;
/** So long after an id was handed out (ms) its tree is asked, unless its first token is listed. */
const ASK_AFTER_MS = 60_000;
/** Pause between two alarms that ask trees (ms). */
const ASK_PAUSE_MS = 1000;
/** Trees that one alarm asks. */
const ASK_STEP = 60;
/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);

/**
 * One of 16 parts of the list of accessors. It serves listing, and finding tokens by the path that made them: a look-up by
 * accessor goes straight to the tree, which the accessor names. Trees tell of a new token after its creation was answered.
 */
export class AccessorShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #leases: LeaseIndex;
  readonly #schema: Schema;
  readonly #inventory: InventoryStore;
  readonly #pool: TreePool;
  readonly #ends: SingleTokenWalk;
  /** Which of the shards this is; null: not asked for yet. */
  #number: number | null = null;
  /** When trees that were handed out are asked next (ms); null: none waits. Their notes are not read before. */
  #askAt: number | null = null;
  /** When the alarm is set for (ms); null: not known to be set. */
  #alarmAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#pool = new TreePool(this.#sql);
    this.#leases = new LeaseIndex(this.#sql);
    this.#inventory = new InventoryStore(this.#sql);
    this.#ends = new SingleTokenWalk(this.#sql);
    this.#schema = new Schema(this.#sql, ACCESSOR_SHARD_MIGRATIONS);
    if (this.#schema.exists) {
      ctx.blockConcurrencyWhile(async () => {
        this.#alarmAt = await pendingAlarm(ctx.storage, currentTime());
        this.#askAt = this.#nextAskAt();
        await this.#arm(this.#nextWorkAt());
      });
    }
  }

  /** Takes updates of trees: their new tokens are on the list from the answer on. Safe to repeat. */
  applyUpdates({ made, changed, sizes, started }: ShardUpdates): void {
    this.#schema.create();
    this.#put(made, changed, sizes);
    this.#pool.started(started, isolates().clockSkewMs);
  }

  /**
   * Hands out ids for new trees: those of freed trees while there are any, fewer than `count` if need be. One of which no token is
   * known a minute later is asked what has become of it.
   */
  async allocateTrees(count: number): Promise<string[]> {
    this.#schema.create();
    const all = within(this.env, this.env.TOKEN_TREE);
    const freed = this.#pool.take(count);
    const trees = freed.length > 0 ? freed : Array.from({ length: count }, () => all.newUniqueId().toString());
    const now = currentTime();
    this.#pool.allocated(trees, now);
    this.#askAt ??= now + ASK_AFTER_MS;
    await this.#arm(this.#askAt);
    return trees;
  }

  /** Hears that nothing is left in a tree: it is handed out again. Safe to repeat. */
  releaseTree(tree: string): void {
    this.#schema.create();
    if (!this.#pool.put(tree)) return;
    noteFreed(this.#ownNumber);
  }

  /**
   * Lists those of `tokens` that are not listed.
   *
   * @returns how many that were.
   */
  relist(tokens: readonly { readonly accessor: string; readonly path: string }[]): number {
    this.#schema.create();
    const missing = tokens.filter(({ accessor }) => !this.#isListed(accessor));
    for (const { accessor, path } of missing) {
      this.#sql.exec("INSERT INTO accessors (accessor, path) VALUES (?, ?)", accessor, path);
    }
    return missing.length;
  }

  /** Drops `accessors` from the list. Safe to repeat. @param freed trees that end with them: see `releaseTree`. */
  remove(accessors: readonly string[], freed: readonly string[] = []): void {
    for (const tree of freed) this.releaseTree(tree);
    if (this.#schema.exists) this.#forget(accessors);
  }

  #forget(accessors: readonly string[]): void {
    if (this.#hasUnknown) this.#forgetUnknown(accessors);
    this.#inventory.remove(accessors);
  }

  /** Keeps what trees say. One of `changed` that is not on the list, or not any more, is left out. */
  #put(made: readonly InventoryEntry[], changed: readonly InventoryEntry[], sizes: readonly TreeSize[] = []): void {
    const hasUnknown = this.#hasUnknown;
    const isListed = (accessor: string) => hasUnknown && this.#isUnknown(accessor);
    this.#inventory.put({ made, changed, sizes, isListed });
    if (hasUnknown) this.#forgetUnknown([...made, ...changed].map(({ accessor }) => accessor));
    void this.#arm(this.#ends.listed([...made, ...changed]));
  }

  #isListed(accessor: string): boolean {
    return this.#inventory.has(accessor) || this.#isUnknown(accessor);
  }

  /** False nearly always: something is known of every token that is listed. */
  get #hasUnknown(): boolean {
    return this.#sql.exec("SELECT 1 FROM accessors LIMIT 1").toArray().length > 0;
  }

  /** True for a token that is listed, and of which nothing else is known. */
  #isUnknown(accessor: string): boolean {
    return this.#sql.exec("SELECT 1 FROM accessors WHERE accessor = ?", accessor).toArray().length > 0;
  }

  #forgetUnknown(accessors: readonly string[]): void {
    this.#sql.exec(
      "DELETE FROM accessors WHERE accessor IN (SELECT value FROM json_each(?))",
      JSON.stringify(accessors),
    );
  }

  /** A page of the inventory of this shard. */
  inventoryPage(query: PageQuery): ShardPage {
    return this.#schema.exists ? this.#inventory.page(query) : { tokens: [], upTo: null, scanned: 0 };
  }

  /**
   * How many tokens a filter means here, of the `limit` that can be meant after the one with the id `last` (null: from the
   * first on), and how many of them are root tokens.
   */
  countInventory(filter: TokenFilter, now: number, last: number | null, limit: number): ShardCount {
    return this.#schema.exists ? this.#inventory.count(filter, now, last, limit) : { count: 0, roots: 0, last: null };
  }

  /** What the inventory has of these accessors. */
  findListed(accessors: readonly string[]): ListedToken[] {
    return this.#schema.exists ? this.#inventory.find(accessors) : [];
  }

  /** The mounts that have tokens here, with the number of those, or of trees. */
  countMounts(of: "tokens" | "trees"): GroupCount[] {
    return this.#schema.exists ? this.#inventory.counts.mounts(of === "tokens" ? "mount" : "first") : [];
  }

  /** The greatest groups of a kind, of each of `mounts`. */
  groups(kind: CountKind, mounts: readonly string[]): GroupCount[] {
    return this.#schema.exists ? mounts.flatMap((mount) => this.#inventory.counts.greatest(kind, mount)) : [];
  }

  /** How many tokens of `mounts` some groups have here. */
  countGroups(kind: CountKind, mounts: readonly string[], keys: readonly string[]): GroupCount[] {
    return this.#schema.exists ? mounts.flatMap((mount) => this.#inventory.counts.of(kind, mount, keys)) : [];
  }

  /** The largest trees of a mount that are kept here. */
  largestTrees(mount: string): TreeSize[] {
    return this.#schema.exists ? this.#inventory.largestTrees(mount) : [];
  }

  /** Does what is due, a step at a time. Safe to repeat after a crash anywhere in it. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    try {
      await this.#askAllocated();
      await this.#endTokens();
    } catch (error) {
      console.error(JSON.stringify({ type: "list of accessors", error: String(error) }));
      return this.#arm(currentTime() + RETRY_MS);
    }
    await this.#arm(this.#nextWorkAt());
  }

  /** What is listed after `after`, at most `limit` tokens in order, for tidy to compare with their trees. */
  claims(after: string, limit: number): ListedClaim[] {
    if (!this.#schema.exists) return [];
    const missing = this.#sql
      .exec<{ accessor: string }>(
        "SELECT accessor FROM accessors WHERE accessor > ? ORDER BY accessor LIMIT ?",
        after,
        limit,
      )
      .toArray();
    const claims = [
      ...this.#inventory.claims(after, limit),
      ...missing.map(({ accessor }): ListedClaim => ({ accessor, entry: "missing" })),
    ];
    const page = claims.sort((a, b) => (a.accessor < b.accessor ? -1 : 1)).slice(0, limit);
    return page.map((claim) => (this.#isOwn(claim.accessor) ? claim : { ...claim, entry: "wrong" }));
  }

  /**
   * Asks trees about tokens that the inventory does not have, or has otherwise than they: a tree that crashes right after an
   * answer does not tell of it. Safe to repeat.
   *
   * @param wrong those of which the inventory has what no tree has said: that is on record as tampering.
   */
  async describeAnew(stale: readonly string[], wrong: readonly string[]): Promise<void> {
    if (!this.#schema.exists) return;
    const object = this.ctx.id.toString();
    for (const accessor of wrong) reportTampering({ kind: "inventory entry", object, row: accessor });
    const described = await describeListed(this.env, [...new Set([...stale, ...wrong])]);
    const isWrong = new Set(wrong);
    this.#put(
      [],
      described.filter(({ accessor }) => !isWrong.has(accessor)),
    );
    this.#inventory.replace(described.filter(({ accessor }) => isWrong.has(accessor) && this.#isOwn(accessor)));
    this.#inventory.discard(wrong.filter((accessor) => !this.#isOwn(accessor)));
  }

  /** True for an accessor whose place is this shard. */
  #isOwn(accessor: string): boolean {
    return accessorShardNumber(accessor) === this.#ownNumber;
  }

  get #ownNumber(): number {
    this.#number ??= numberOf(this.env, this.ctx.id);
    return this.#number;
  }

  /** Asks trees that were handed out a while ago whether they were ever used: what is alive there is listed then. */
  async #askAllocated(): Promise<void> {
    if (this.#askAt === null || this.#askAt > currentTime()) return;
    const trees = this.#pool.allocatedUntil(currentTime() - ASK_AFTER_MS, ASK_STEP);
    const all = within(this.env, this.env.TOKEN_TREE);
    await inGroups(trees, async (treeId) => {
      try {
        const isFree = await all.get(all.idFromString(treeId)).report();
        this.#pool.asked(treeId);
        if (isFree) this.releaseTree(treeId);
      } catch (error) {
        console.error(JSON.stringify({ type: "list of accessors", tree: treeId, error: String(error) }));
        this.#pool.allocated([treeId], currentTime());
      }
    });
    this.#askAt = this.#nextAskAt();
  }

  #nextAskAt(): number | null {
    const { oldest } = this.#pool;
    return oldest === null ? null : Math.max(currentTime() + ASK_PAUSE_MS, oldest + ASK_AFTER_MS);
  }

  /** Ends tokens that are the only ones of their trees, a turn at a time. Their trees have no alarms. */
  async #endTokens(): Promise<void> {
    if (!this.#schema.exists) return;
    const all = within(this.env, this.env.TOKEN_TREE);
    const ask = async ({ treeId, row }: TokenAddress): Promise<SingleTokenEnd> =>
      all.get(all.idFromString(treeId)).endSingleToken(row);
    const { gone, free } = await this.#ends.turn(currentTime(), ask, (entry) => this.#put([], [entry]));
    // What a crash before this leaves on the list is asked for again.
    for (const tree of free) this.releaseTree(tree);
    if (gone.length > 0) this.#forget(gone);
  }

  /** When the alarm has work (ms), or null. */
  #nextWorkAt(): number | null {
    const now = currentTime();
    if (!this.#schema.exists) return null;
    const endsAt = this.#ends.nextAt(now);
    return this.#askAt === null || endsAt === null ? (this.#askAt ?? endsAt) : Math.min(this.#askAt, endsAt);
  }

  async #arm(at: number | null): Promise<void> {
    if (at === null || (this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#alarmAt = Math.min(at, LATEST_ALARM_MS);
    await this.ctx.storage.setAlarm(this.#alarmAt);
  }

  /** At most `limit` accessors after `after`, in order. */
  list(after: string, limit: number): string[] {
    if (!this.#schema.exists) return [];
    return this.#sql
      .exec<{ accessor: string }>(
        `SELECT accessor FROM ${LISTED} WHERE accessor > ? ORDER BY accessor LIMIT ?`,
        after,
        limit,
      )
      .toArray()
      .map((row) => row.accessor);
  }

  /** Indexes a secret's lease from now on. Safe to repeat. */
  addLease(tail: string, path: string): void {
    this.#schema.create();
    this.#leases.add(tail, path);
  }

  /** Drops secrets' leases from the index. Safe to repeat. */
  removeLeases(tails: readonly string[]): void {
    if (this.#schema.exists) this.#leases.remove(tails);
  }

  /** Notes that the revocation of a secret's lease was given up. Safe to repeat. */
  giveUpLease(lease: IrrevocableLease): void {
    this.#schema.create();
    this.#leases.giveUp(lease);
  }

  /** At most `limit` leases of one kind below `prefix` from `start` on. */
  leasesBelow(kind: LeaseKind, prefix: string, start: PagePosition | null, limit: number): IndexPage {
    return this.#schema.exists ? this.#leases.page(kind, prefix, start, limit) : { leases: [], next: null };
  }

  /** The first leases of each kind at `prefix` and folders below it that come after `after`, at most `limit` of each. */
  leaseLevel(prefix: string, after: string, limit: number): LeaseLevel {
    return this.#schema.exists ? this.#leases.level(prefix, after, limit) : { leases: [], folders: [] };
  }

  /** At most `limit` leases whose revocation was given up, by expiry and id. */
  irrevocableLeases(limit: number): IrrevocableLease[] {
    return this.#schema.exists ? this.#leases.irrevocable(limit) : [];
  }

  /** How many leases of secrets it has, counted up to `most`. */
  countLeases(most: number): number {
    return this.#schema.exists ? this.#leases.count(most) : 0;
  }

  /** How many leases of both kinds are at or below `prefix`, of each counted up to `most`. */
  countBelow(prefix: string, most: number): number {
    return this.#schema.exists ? this.#leases.countBelow(prefix, most) : 0;
  }

  /** How many leases were given up, by the first segment of their path. */
  countIrrevocable(): Record<string, number> {
    return this.#schema.exists ? this.#leases.countIrrevocable() : {};
  }
}

/** The number of the shard that is this object. */
function numberOf(env: Env, id: DurableObjectId): number {
  const shards = within(env, env.ACCESSOR_SHARD);
  const numbers = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => number);
  return numbers.find((number) => shards.idFromName(accessorShardName(number)).equals(id)) ?? 0;
}

/** The shard object with this number. */
export function accessorShard(env: Env, number: number): DurableObjectStub<AccessorShard> {
  return within(env, env.ACCESSOR_SHARD).getByName(accessorShardName(number));
}
