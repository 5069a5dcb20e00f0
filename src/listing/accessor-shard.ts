import { DurableObject } from "cloudflare:workers";
import { currentTime, type Ms } from "../base/clock.ts";
import { within } from "../base/location.ts";
import { inGroups } from "../base/parallel.ts";
import { EarliestAlarm } from "../storage/object-alarm.ts";
import { reportTampering } from "../storage/row-seals.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { mustLoadInstallation } from "../system/installation.ts";
import { decodeStoredId, type TokenAddress } from "../token/ids.ts";
import { treeAt } from "../token/tree-stub.ts";
import { accessorShardNumber, shardNumberOf } from "./accessor-shards.ts";
import { keepEndedMs, type ListingEnv } from "./env.ts";
import {
  type CountedFilter,
  ENDED_SQL,
  type EndedFilter,
  type EndedQuery,
  type EndedToken,
  type Ending,
  type RevokedByJob,
} from "./inventory/ended-tokens.ts";
import {
  type InventoryEntry,
  type ListedClaim,
  type ListedToken,
  SAFETY_AGE_MS,
  type TreeSize,
} from "./inventory/entry.ts";
import type { CountKind, GroupCount, TreeGrouping } from "./inventory/index-terms.ts";
import type { ShardPage } from "./inventory/page-cursor.ts";
import { InventoryStore } from "./inventory/shard/inventory-store.ts";
import type { PageQuery } from "./inventory/shard/pages.ts";
import { INVENTORY_SQL } from "./inventory/shard/tables.ts";
import {
  type EndsQuery,
  endsByGroup,
  type ShardEnds,
  type TreeGroup,
  treeGroups,
  type WantedTreeGroups,
} from "./inventory/tree-groups.ts";
import {
  FAILED_LEASES_SQL,
  type ForcedRemoval,
  type IndexPage,
  type IrrevocableLease,
  LEASE_INDEX_SQL,
  LeaseIndex,
  type LeaseKind,
  type LeaseLevel,
  type LeasePosition,
  REMOVED_LEASES_SQL,
  type RemovedLeases,
} from "./lease-index.ts";
import { ShardTrees } from "./trees/shard-trees.ts";
import { ALLOCATED_TREES_SQL } from "./trees/tree-ledger.ts";
import type { ShardUpdates } from "./updates/publish.ts";

export const ACCESSOR_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "tokens and leases of this shard, the inventory, ended tokens, and the ledger of allocated trees",
    sql: `${LEASE_INDEX_SQL} ${INVENTORY_SQL} ${ENDED_SQL} ${ALLOCATED_TREES_SQL}`,
  },
  { version: 2, description: "leases that were removed by force", sql: REMOVED_LEASES_SQL, readableFrom: 1 },
  { version: 3, description: "leases whose revocation fails", sql: FAILED_LEASES_SQL, readableFrom: 1 },
];

const RETRY_MS = 15_000;

/**
 * One shard of the list of accessors, see `shardNumbers`. It serves lists and the inventory, and finds leases by path.
 * A look-up by accessor does not call it, because the accessor contains its tree.
 */
export class AccessorShard extends DurableObject<ListingEnv> {
  readonly #tables: Tables;
  readonly #leases: LeaseIndex;
  readonly #inventory: InventoryStore;
  readonly #trees: ShardTrees;
  readonly #alarm: EarliestAlarm;
  #number: number | undefined;

  constructor(ctx: DurableObjectState, env: ListingEnv) {
    super(ctx, env);
    const { storage } = ctx;
    this.#tables = new Tables(storage.sql, ACCESSOR_SHARD_MIGRATIONS);
    this.#leases = new LeaseIndex(this.#tables);
    this.#alarm = new EarliestAlarm(storage);
    this.#inventory = new InventoryStore(this.#tables);
    this.#trees = new ShardTrees(this.#tables, storage.sql, env, () => this.#ownNumber);
    if (this.#tables.exist) {
      ctx.blockConcurrencyWhile(async () => {
        await this.#alarm.load();
        this.#trees.ledger.refresh();
        await this.#arm();
      });
    }
  }

  /** Applies updates of trees. New tokens are listed once this returns. Safe to repeat. */
  applyUpdates({ started, ...updates }: ShardUpdates): void {
    this.#put(updates);
    this.#trees.ledger.started(started);
  }

  /** Allocates at most `count` ids for new trees. A tree without a listed token a minute later is called. */
  async allocateTrees(count: number): Promise<string[]> {
    const trees = this.#trees.ledger.allocate(count);
    await this.#alarm.atLatest(this.#trees.ledger.nextDueAt);
    return trees;
  }

  /** Adds the id of an empty tree to the pool, so that it is allocated again. Safe to repeat. */
  releaseTree(tree: string): void {
    this.#trees.ledger.release([tree]);
  }

  /** Lists missing tokens that tidy found; returns their number. A tree that runs 1.0.0-rc.1 sends no whole entries. */
  relist(tokens: readonly (InventoryEntry | Pick<InventoryEntry, "accessor" | "path">)[]): number {
    const whole = tokens.filter((token) => "policies" in token);
    const missing = whole.filter(({ accessor }) => !this.#inventory.has(accessor));
    this.#put({ made: missing });
    return missing.length;
  }

  /**
   * Removes tokens from the list and keeps how they ended. Safe to repeat. A token is given as its accessor alone when
   * its tree does not have it. `freed`: ids of trees that are empty without these tokens, see `releaseTree`.
   */
  remove(tokens: readonly (string | Ending)[], freed: readonly string[] = []): void {
    this.#drop(tokens, freed);
  }

  /** Returns a recently ended token; null when no record of it is kept. */
  findEnded(accessor: string): EndedToken | null {
    return this.#inventory.ended.find(accessor, this.#keptFrom);
  }

  /** Returns a recently ended token of this shard by its address; null as for `findEnded`. */
  endedAt(address: TokenAddress): EndedToken | null {
    return this.#inventory.ended.findAt(address, this.#keptFrom);
  }

  /** Returns a page of the recently ended tokens. */
  endedPage(query: EndedQuery): ShardPage<EndedToken> {
    return this.#inventory.ended.page({ ...query, filter: this.#kept(query.filter) });
  }

  /** Counts the recently ended tokens that match a filter. */
  countEnded(filter: CountedFilter): number {
    return this.#inventory.ended.count(this.#kept(filter));
  }

  /** Counts the tokens of this shard that a job ended by revoking `accessors`. */
  countRevoked(filter: EndedFilter, accessors: readonly string[]): RevokedByJob {
    return this.#inventory.ended.countRevoked(this.#kept(filter), accessors);
  }

  /** Returns a page of the inventory of this shard. */
  inventoryPage(query: PageQuery): ShardPage<ListedToken> {
    return this.#inventory.pages.page(query);
  }

  /** Returns the entries of the inventory for these accessors. */
  findListed(accessors: readonly string[]): ListedToken[] {
    return this.#inventory.find(accessors);
  }

  /** Counts the tokens of this shard, or the trees, by mount. */
  countMounts(of: "tokens" | "trees"): GroupCount[] {
    return this.#inventory.index.mounts(of === "tokens" ? "mount" : "first");
  }

  /** Returns the largest groups of a kind, of each of `mounts`. */
  groups(kind: CountKind, mounts: readonly string[]): GroupCount[] {
    return mounts.flatMap((mount) => this.#inventory.index.greatest(kind, mount));
  }

  /** Counts the tokens of this shard in some groups, of each of `mounts`. */
  countGroups(kind: CountKind, mounts: readonly string[], keys: readonly string[]): GroupCount[] {
    return mounts.flatMap((mount) => this.#inventory.index.countsOf(kind, mount, keys));
  }

  /** Groups trees by a property of their first tokens; null when too many would have to be read. */
  treeGroups(grouping: TreeGrouping, wanted: readonly WantedTreeGroups[]): TreeGroup[] | null {
    return treeGroups(this.#tables, this.#inventory.index, grouping, wanted);
  }

  /** Counts tokens of this shard by group and time of expiry; null when too many would have to be read. */
  endsByGroup(query: EndsQuery): ShardEnds | null {
    return endsByGroup(this.#tables, query);
  }

  /** See `StoredObject.ping`. */
  ping(): void {
    this.env.deployment.moves?.accept();
  }

  /** Returns the largest trees of a mount whose first token is in this shard. */
  largestTrees(mount: string): TreeSize[] {
    return this.#inventory.largestTrees(mount);
  }

  /** Performs a step of each task that is due. Safe to repeat after a crash at any point of it. */
  override async alarm(): Promise<void> {
    this.#alarm.clear();
    try {
      const { gone, free } = await this.#trees.turn(currentTime(), (entry) => this.#put({ changed: [entry] }));
      // A crash before this line leaves the tokens on the list, and the walk calls their trees again.
      if (gone.length > 0) this.#drop(gone, free);
      this.#inventory.ended.forget(this.#keptFrom);
      this.#leases.forgetRemoved(this.#keptFrom);
    } catch (error) {
      console.error(JSON.stringify({ type: "list of accessors", error: String(error) }));
      return this.#alarm.atLatest(currentTime() + RETRY_MS);
    }
    await this.#arm();
  }

  /** Returns at most `limit` listed tokens after `after`, in order, for tidy to compare with their trees. */
  async claims(after: string, limit: number): Promise<ListedClaim[]> {
    await mustLoadInstallation(this.env);
    const claims = this.#inventory.claims(after, limit, currentTime() - SAFETY_AGE_MS);
    return claims.map((claim) => (this.#isOwn(claim.accessor) ? claim : { ...claim, entry: "wrong" }));
  }

  /**
   * Corrects entries by reading them from their trees. Safe to repeat.
   *
   * @param stale accessors of outdated entries: a tree that crashes right after an answer does not publish the change.
   * @param wrong accessors of entries that no tree can have published. They are reported as tampering.
   */
  async describeAnew(stale: readonly string[], wrong: readonly string[]): Promise<void> {
    if (!this.#tables.exist) return;
    await mustLoadInstallation(this.env);
    const object = this.ctx.id.toString();
    for (const accessor of wrong) reportTampering({ kind: "inventory entry", object, row: accessor });
    const entries = await entriesFromTrees(this.env, [...new Set([...stale, ...wrong])]);
    const isWrong = ({ accessor }: InventoryEntry) => wrong.includes(accessor);
    this.#put({ changed: entries.filter((entry) => !isWrong(entry)) });
    const replaced = entries.filter((entry) => isWrong(entry) && this.#isOwn(entry.accessor));
    this.#change(() => this.#inventory.replace(replaced));
    this.#inventory.discard(wrong.filter((accessor) => !this.#isOwn(accessor)));
  }

  #put(updates: Partial<Omit<ShardUpdates, "started">>): void {
    const { made = [], changed = [] } = updates;
    this.#change(() => this.#inventory.put(updates, currentTime() - SAFETY_AGE_MS));
    void this.#alarm.atLatest(this.#trees.walk.listed([...made, ...changed]));
  }

  /** Changes rows, postings and counters in one transaction: an error leaves no row that they do not know. */
  #change(work: () => void): void {
    const hadTables = this.#tables.exist;
    try {
      this.ctx.storage.transactionSync(work);
    } catch (error) {
      // They were created in it.
      if (!hadTables) this.#tables.forget();
      this.#inventory.forgetRead();
      throw error;
    }
  }

  #isOwn(accessor: string): boolean {
    return accessorShardNumber(accessor) === this.#ownNumber;
  }

  /** Performs a removal for the shard itself. `remove` is for other objects. */
  #drop(tokens: readonly (string | Ending)[], freed: readonly string[]): void {
    this.#trees.ledger.release(freed);
    const now = currentTime();
    const keep = keepEndedMs(this.env);
    this.#change(() => this.#inventory.remove(tokens, keep > 0 ? now : null));
    if (keep > 0) void this.#alarm.atLatest(now + keep);
  }

  get #keptFrom(): Ms {
    return currentTime() - keepEndedMs(this.env) + 1;
  }

  #kept<Filter extends EndedFilter>(filter: Filter): Filter {
    return { ...filter, from: Math.max(filter.from, this.#keptFrom) };
  }

  #arm(): Promise<void> {
    const now = currentTime();
    const keep = keepEndedMs(this.env);
    const removal = this.#leases.oldestRemoval();
    const forgetAt = [this.#inventory.ended.nextDueAt(keep, now), removal === null ? null : removal + keep];
    return this.#alarm.atLatest(this.#trees.nextAt(now), ...forgetAt);
  }

  /** Returns the size of the storage of this shard, in bytes. */
  storedBytes(): number {
    return this.#tables.exist ? this.ctx.storage.sql.databaseSize : 0;
  }

  get #ownNumber(): number {
    this.#number ??= shardNumberOf(within(this.env, this.env.ACCESSOR_SHARD), this.ctx.id);
    return this.#number;
  }

  /** Returns at most `limit` accessors after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#inventory.list(after, limit);
  }

  /** Returns an accessor of each tree with listed tokens after the tree of `after`, in order: at most `limit`. */
  treesAfter(after: string, limit: number): string[] {
    return this.#inventory.treesAfter(after, limit);
  }

  /** Indexes the leases of secrets of a restored tree. Safe to repeat. */
  restoreLeases(held: readonly Pick<IrrevocableLease, "tail" | "path">[], givenUp: readonly IrrevocableLease[]): void {
    this.#leases.restore(held, givenUp);
  }

  /**
   * Indexes the lease of a secret. Safe to repeat.
   *
   * @param failedAt when an attempt to revoke it failed that another one follows: then it is only noted. A shard of
   * 1.0.0-rc.1 does not know it.
   */
  addLease(tail: string, path: string, failedAt?: Ms): void {
    if (failedAt === undefined) this.#leases.add(tail, path);
    else this.#leases.noteFailed(tail, failedAt);
  }

  /** Removes leases of secrets from the index, and keeps which of them were removed by force. Safe to repeat. */
  removeLeases(tails: readonly string[], forced: readonly ForcedRemoval[] = []): void {
    const keep = keepEndedMs(this.env);
    if (forced.length > 0 && keep > 0) {
      const now = currentTime();
      this.#leases.noteRemoved(forced, now);
      void this.#alarm.atLatest(now + keep);
    }
    this.#leases.remove(tails);
  }

  /** Counts the leases that were removed by force, by holder. See `LeaseIndex.removed`. */
  removedLeases(beginnings: readonly string[]): RemovedLeases[] {
    return this.#leases.removed(beginnings, this.#keptFrom);
  }

  /** Notes that the revocation of a secret's lease was given up. Safe to repeat. */
  giveUpLease(lease: IrrevocableLease): void {
    this.#leases.giveUp(lease);
  }

  /** Returns a page of the leases of one kind. See `LeaseIndex.below`. */
  leasesBelow(kind: LeaseKind, prefix: string, start: LeasePosition | null, limit: number): IndexPage {
    return this.#leases.below(kind, prefix, start, limit);
  }

  /** Returns the leases and folders of one level. See `LeaseIndex.level`. */
  leaseLevel(prefix: string, after: string, limit: number): LeaseLevel {
    return this.#leases.level(prefix, after, limit);
  }

  /**
   * Returns at most `limit` leases whose revocation was given up, ordered by expiry and id.
   *
   * @param failedFrom instead of those, the ones that are tried again and whose last attempt failed at this time or later.
   * A shard of 1.0.0-rc.1 does not know it, and returns those that were given up.
   */
  irrevocableLeases(limit: number, failedFrom?: Ms): IrrevocableLease[] {
    return failedFrom === undefined ? this.#leases.irrevocable(limit) : this.#leases.failedSince(failedFrom, limit);
  }

  /** Counts the leases of secrets, up to `most`. */
  countLeases(most: number): number {
    return this.#leases.count(most);
  }

  /** Returns which of these trees (as by `treeBeginning`) have leases of secrets in this shard. */
  treesWithLeases(beginnings: readonly string[]): string[] {
    return this.#leases.treesWithLeases(beginnings);
  }

  /** Counts the leases of both kinds at or below `prefix`, up to `most` of each kind. */
  countBelow(prefix: string, most: number): number {
    return this.#leases.countBelow(prefix, most);
  }

  /** Counts the leases whose revocation was given up, by the first segment of their path. */
  countIrrevocable(): Record<string, number> {
    return this.#leases.countIrrevocable();
  }

  /** Returns the allocated ids of trees whose first token is not known to be listed. */
  allocatedTrees(): string[] {
    return this.#trees.ledger.allocated();
  }
}

/** Reads entries from their trees. Leaves out dead tokens, and those of a tree that fails: tidy calls it again. */
async function entriesFromTrees(env: ListingEnv, accessors: readonly string[]): Promise<InventoryEntry[]> {
  const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
  const byTree = Map.groupBy(places, ({ treeId }) => treeId);
  const described = await inGroups([...byTree], async ([treeId, inTree]) => {
    try {
      return await treeAt(env, treeId).describe(inTree.map(({ row }) => row));
    } catch (error) {
      console.error(JSON.stringify({ type: "inventory", tree: treeId, error: String(error) }));
      return [];
    }
  });
  // Trees are asked by row number. A row whose whole accessor differs is another token.
  const wanted = new Set(accessors);
  return described.flat().filter(({ accessor }) => wanted.has(accessor));
}
