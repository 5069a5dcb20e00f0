import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { within } from "../base/location.ts";
import { EarliestAlarm } from "../storage/object-alarm.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { mustLoadInstallation } from "../system/installation.ts";
import { newTreeId, treeAt } from "../token/find-tree.ts";
import { accessorShardName, accessorShardNumber, shardNumberOf } from "./accessor-shard-number.ts";
import { keepEndedMs, type ListingEnv } from "./env.ts";
import { SingleTokenWalk } from "./expiry/single-token-walk.ts";
import type { ListedClaim, ListedToken } from "./inventory/entry.ts";
import type { GroupCount } from "./inventory/group-sums.ts";
import type { ShardPage } from "./inventory/order.ts";
import { ENDED_SQL, type EndedFilter, type EndedQuery, type EndedToken, type Ending } from "./inventory/shard/ended.ts";
import { type EndsQuery, endsByGroup, type ShardEnds } from "./inventory/shard/group-ends.ts";
import { InventoryStore } from "./inventory/shard/inventory-store.ts";
import type { PageQuery } from "./inventory/shard/pages.ts";
import { INVENTORY_SQL } from "./inventory/shard/tables.ts";
import { type TreeGroup, treeGroups, type WantedTreeGroups } from "./inventory/shard/tree-groups.ts";
import type { TreeSize } from "./inventory/shard/tree-size.ts";
import type { CountKind, TreeGrouping } from "./inventory/terms.ts";
import {
  type IndexPage,
  type IrrevocableLease,
  LEASE_INDEX_SQL,
  LeaseIndex,
  type LeaseKind,
  type LeaseLevel,
  type PagePosition,
} from "./lease-index.ts";
import { ListedTokens, type RelistedToken } from "./listed-tokens.ts";
import { ALLOCATED_TREES_SQL, TreePool } from "./tree-ids/tree-pool.ts";
import type { ShardUpdates } from "./updates/update-queue.ts";

export const ACCESSOR_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description:
      "tokens and leases of this shard, the inventory, what ended lately, ids of trees that were handed out and of whose tokens none is known",
    sql: `${LEASE_INDEX_SQL} ${INVENTORY_SQL} ${ENDED_SQL} ${ALLOCATED_TREES_SQL}`,
  },
];

/** Pause after an alarm's work that failed (ms). */
const RETRY_MS = 15_000;

/**
 * One part of the list of accessors: see `shardNumbers`. It serves listing, and finding tokens by the path that made them: a look-up by
 * accessor goes straight to the tree, which the accessor names. Trees publish a new token after its creation was answered.
 */
export class AccessorShard extends DurableObject<ListingEnv> {
  readonly #tables: Tables;
  readonly #inventory: InventoryStore;
  readonly #tokens: ListedTokens;
  readonly #leases: LeaseIndex;
  readonly #trees: TreePool;
  readonly #expiry: SingleTokenWalk;
  readonly #alarm: EarliestAlarm;
  /** Which of the shards this is; null: not asked for yet. */
  #number: number | null = null;

  constructor(ctx: DurableObjectState, env: ListingEnv) {
    super(ctx, env);
    const { storage } = ctx;
    this.#tables = new Tables(storage.sql, ACCESSOR_SHARD_MIGRATIONS);
    this.#alarm = new EarliestAlarm(storage);
    this.#leases = new LeaseIndex(this.#tables);
    this.#inventory = new InventoryStore(this.#tables);
    this.#expiry = new SingleTokenWalk(this.#tables, ({ treeId, row }) => treeAt(env, treeId).endSingleToken(row));
    this.#tokens = new ListedTokens({
      env,
      inventory: this.#inventory,
      object: ctx.id.toString(),
      isOwn: (accessor) => accessorShardNumber(accessor) === this.#ownNumber,
      changed: (entries) => void this.#alarm.atLatest(this.#expiry.listed(entries)),
    });
    this.#trees = new TreePool(this.#tables, storage.sql, {
      shardNumber: () => this.#ownNumber,
      newTreeId: () => newTreeId(env),
      ask: (treeId) => treeAt(env, treeId).report(),
    });
    if (this.#tables.exist) {
      ctx.blockConcurrencyWhile(async () => {
        await this.#alarm.load();
        this.#trees.refresh();
        await this.#arm();
      });
    }
  }

  /** Takes updates of trees: their new tokens are on the list from the answer on. Safe to repeat. */
  applyUpdates({ made, changed, sizes, started }: ShardUpdates): void {
    this.#tokens.put(made, changed, sizes);
    this.#trees.started(started);
  }

  /** Allocates ids for new trees, at most `count` of them. One without a listed token a minute later is asked what has become of it. */
  async allocateTrees(count: number): Promise<string[]> {
    const trees = this.#trees.allocate(count);
    await this.#alarm.atLatest(this.#trees.nextDueAt);
    return trees;
  }

  /** Nothing is left in a tree: it is allocated again. Safe to repeat. */
  releaseTree(tree: string): void {
    this.#trees.release([tree]);
  }

  /** See `ListedTokens.relist`. */
  relist(tokens: readonly RelistedToken[]): number {
    return this.#tokens.relist(tokens);
  }

  /**
   * Drops tokens from the list and keeps how they ended, where that is known. Safe to repeat.
   *
   * @param tokens an accessor alone: its tree does not have it.
   * @param freed trees that end with them: see `releaseTree`.
   */
  remove(tokens: readonly (string | Ending)[], freed: readonly string[] = []): void {
    this.#trees.release(freed);
    this.#drop(tokens);
  }

  /** A token that has ended lately; null when there is none, or it is kept no longer. */
  findEnded(accessor: string): EndedToken | null {
    return this.#inventory.ended.find(accessor, this.#keptFrom);
  }

  /** A page of the tokens that have ended lately. */
  endedPage(query: EndedQuery): ShardPage<EndedToken> {
    return this.#inventory.ended.page({ ...query, filter: this.#kept(query.filter) });
  }

  /** How many of the tokens that have ended lately a filter means. */
  countEnded(filter: EndedFilter): number {
    return this.#inventory.ended.count(this.#kept(filter));
  }

  /** A page of the inventory of this shard. */
  inventoryPage(query: PageQuery): ShardPage<ListedToken> {
    return this.#inventory.pages.page(query);
  }

  /** What the inventory has of these accessors. */
  findListed(accessors: readonly string[]): ListedToken[] {
    return this.#inventory.find(accessors);
  }

  /** The mounts that have tokens here, with the number of those, or of trees. */
  countMounts(of: "tokens" | "trees"): GroupCount[] {
    return this.#inventory.counts.mounts(of === "tokens" ? "mount" : "first");
  }

  /** The greatest groups of a kind, of each of `mounts`. */
  groups(kind: CountKind, mounts: readonly string[]): GroupCount[] {
    return mounts.flatMap((mount) => this.#inventory.counts.greatest(kind, mount));
  }

  /** How many tokens of `mounts` some groups have here. */
  countGroups(kind: CountKind, mounts: readonly string[], keys: readonly string[]): GroupCount[] {
    return mounts.flatMap((mount) => this.#inventory.counts.of(kind, mount, keys));
  }

  /** Groups of trees, by what their first tokens have in common; null when they are too many to be read. */
  treeGroups(grouping: TreeGrouping, wanted: readonly WantedTreeGroups[]): TreeGroup[] | null {
    return treeGroups(this.#tables, this.#inventory.counts, grouping, wanted);
  }

  /** Which tokens of this shard end when, by group; null when they are too many to be read. */
  endsByGroup(query: EndsQuery): ShardEnds | null {
    return endsByGroup(this.#tables, query);
  }

  /** The largest trees of a mount that are kept here. */
  largestTrees(mount: string): TreeSize[] {
    return this.#inventory.largestTrees(mount);
  }

  /** Does what is due, a step at a time. Safe to repeat after a crash anywhere in it. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    try {
      await this.#trees.askDue();
      await this.#endTokens();
      this.#inventory.ended.forget(this.#keptFrom);
    } catch (error) {
      console.error(JSON.stringify({ type: "list of accessors", error: String(error) }));
      return this.#alarm.atLatest(currentTime() + RETRY_MS);
    }
    await this.#arm();
  }

  /** What is listed after `after`, at most `limit` tokens in order, for tidy to compare with their trees. */
  async claims(after: string, limit: number): Promise<ListedClaim[]> {
    await mustLoadInstallation(this.env);
    return this.#tokens.claims(after, limit);
  }

  /** Corrects entries that differ from their trees. See `ListedTokens.describeAnew`. */
  async describeAnew(stale: readonly string[], wrong: readonly string[]): Promise<void> {
    if (!this.#tables.exist) return;
    await mustLoadInstallation(this.env);
    await this.#tokens.describeAnew(stale, wrong);
  }

  /** Ends tokens that are the only ones of their trees, a turn at a time. Their trees have no alarms. */
  async #endTokens(): Promise<void> {
    const { gone, free } = await this.#expiry.turn(currentTime(), (entry) => this.#tokens.put([], [entry]));
    // What a crash before this leaves on the list is asked for again.
    this.#trees.release(free);
    if (gone.length > 0) this.#drop(gone);
  }

  #drop(tokens: readonly (string | Ending)[]): void {
    const now = currentTime();
    const keep = keepEndedMs(this.env);
    this.#tokens.remove(tokens, keep > 0, now);
    if (keep > 0) void this.#alarm.atLatest(now + keep);
  }

  get #keptFrom(): number {
    return currentTime() - keepEndedMs(this.env) + 1;
  }

  #kept(filter: EndedFilter): EndedFilter {
    return { ...filter, from: Math.max(filter.from, this.#keptFrom) };
  }

  #arm(): Promise<void> {
    const now = currentTime();
    const forgetAt = this.#inventory.ended.nextDueAt(keepEndedMs(this.env), now);
    return this.#alarm.atLatest(this.#trees.nextDueAt, this.#expiry.nextAt(now), forgetAt);
  }

  /** Bytes that it stores. */
  storedBytes(): number {
    return this.#tables.exist ? this.ctx.storage.sql.databaseSize : 0;
  }

  get #ownNumber(): number {
    this.#number ??= shardNumberOf(within(this.env, this.env.ACCESSOR_SHARD), this.ctx.id);
    return this.#number;
  }

  /** At most `limit` accessors after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#inventory.list(after, limit);
  }

  /** The first trees with listed tokens after that of `after`, at most `limit`: an accessor of each, in order. */
  treesAfter(after: string, limit: number): string[] {
    return this.#inventory.treesAfter(after, limit);
  }

  /** Ids of trees that were handed out, and whose first token is not known to be listed. */
  allocatedTrees(): string[] {
    return this.#trees.allocated();
  }

  /** Indexes leases of secrets of a tree that was restored. Safe to repeat. */
  restoreLeases(
    held: readonly { readonly tail: string; readonly path: string }[],
    givenUp: readonly IrrevocableLease[],
  ): void {
    for (const { tail, path } of held) this.#leases.add(tail, path);
    for (const lease of givenUp) this.#leases.giveUp(lease);
  }

  /** Indexes a secret's lease from now on. Safe to repeat. */
  addLease(tail: string, path: string): void {
    this.#leases.add(tail, path);
  }

  /** Drops secrets' leases from the index. Safe to repeat. */
  removeLeases(tails: readonly string[]): void {
    this.#leases.remove(tails);
  }

  /** Notes that the revocation of a secret's lease was given up. Safe to repeat. */
  giveUpLease(lease: IrrevocableLease): void {
    this.#leases.giveUp(lease);
  }

  /** At most `limit` leases of one kind below `prefix` from `start` on. */
  leasesBelow(kind: LeaseKind, prefix: string, start: PagePosition | null, limit: number): IndexPage {
    return this.#leases.page(kind, prefix, start, limit);
  }

  /** The first leases of each kind at `prefix` and folders below it that come after `after`, at most `limit` of each. */
  leaseLevel(prefix: string, after: string, limit: number): LeaseLevel {
    return this.#leases.level(prefix, after, limit);
  }

  /** At most `limit` leases whose revocation was given up, by expiry and id. */
  irrevocableLeases(limit: number): IrrevocableLease[] {
    return this.#leases.irrevocable(limit);
  }

  /** How many leases of secrets it has, counted up to `most`. */
  countLeases(most: number): number {
    return this.#leases.count(most);
  }

  /** Which of these trees have leases of secrets here. Trees are named by the beginning of their ids: see `treeBeginning`. */
  treesWithLeases(beginnings: readonly string[]): string[] {
    return this.#leases.beginningsOf(beginnings);
  }

  /** How many leases of both kinds are at or below `prefix`, of each counted up to `most`. */
  countBelow(prefix: string, most: number): number {
    return this.#leases.countBelow(prefix, most);
  }

  /** How many leases were given up, by the first segment of their path. */
  countIrrevocable(): Record<string, number> {
    return this.#leases.countIrrevocable();
  }
}

/** The shard object with this number. */
export function accessorShard(env: ListingEnv, number: number): DurableObjectStub<AccessorShard> {
  return within(env, env.ACCESSOR_SHARD).getByName(accessorShardName(number));
}
