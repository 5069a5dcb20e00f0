import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../../base/clock.ts";
import { within } from "../../base/location.ts";
import { inGroups } from "../../base/parallel.ts";
import type { Env } from "../../env.ts";
import { pendingAlarm } from "../../storage/pending-alarm.ts";
import { type Migration, Schema } from "../../storage/schema.ts";
import type { TokenAddress } from "../../token/ids.ts";
import type { InventoryEntry, ListedToken } from "../inventory/entry.ts";
import { describeListed } from "../inventory/fill.ts";
import type { TokenFilter } from "../inventory/filter.ts";
import type { GroupCount } from "../inventory/shard/counts.ts";
import { InventoryStore } from "../inventory/shard/inventory-store.ts";
import { OldInventory } from "../inventory/shard/old-inventory.ts";
import type { PageQuery, ShardCount, ShardPage } from "../inventory/shard/pages.ts";
import { FIRST_INVENTORY_SQL, INVENTORY_SQL } from "../inventory/shard/tables.ts";
import type { TreeSize } from "../inventory/shard/tree-size.ts";
import type { CountKind } from "../inventory/terms.ts";
import { isOneProcess } from "../live-tokens.ts";
import { ACCESSOR_SHARDS, accessorShardName, accessorShardNumber } from "./accessor-shard-number.ts";
import { noteFreed } from "./freed-trees.ts";
import {
  type IndexPage,
  type IrrevocableLease,
  LEASE_INDEX_SQL,
  LeaseIndex,
  type LeaseKind,
  type LeaseLevel,
  LISTED,
  type PagePosition,
} from "./index-store.ts";
import type { LoneEnd } from "./lone-end.ts";
import { LoneEnds } from "./lone-ends.ts";
import { issuedBy, type ShardNews } from "./news.ts";
import { DRAWN_TREES_SQL, TreePool } from "./tree-pool.ts";

export { ACCESSOR_SHARDS, accessorShardNumber, treeShardNumber } from "./accessor-shard-number.ts";

export const ACCESSOR_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "accessors and leases of this shard with the paths that made them, mounts that issue nothing any more",
    sql: `
      CREATE TABLE accessors (accessor TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
      CREATE INDEX accessors_by_path ON accessors (path);
      CREATE TABLE closed_mounts (mount TEXT PRIMARY KEY) WITHOUT ROWID;
      ${LEASE_INDEX_SQL}
    `,
  },
  {
    version: 2,
    description: "the inventory, and how far the accessors that were listed before it have come into it",
    sql: `
      ${FIRST_INVENTORY_SQL}
      CREATE TABLE filling (position TEXT NOT NULL);
      INSERT INTO filling (position) SELECT '' WHERE EXISTS (SELECT 1 FROM accessors);
    `,
  },
  {
    version: 3,
    description: "ids of trees that were handed out and of whose tokens none is known",
    sql: DRAWN_TREES_SQL,
  },
  {
    version: 4,
    description: "one row for each token of the inventory, lists of ids, and changes that are not written there yet",
    sql: INVENTORY_SQL,
  },
];

/** Accessors, or sizes of trees, of before this inventory that one step moves. */
const FILL_STEP = 200;
/** Pause between two such steps, and after an alarm's work that failed (ms). */
const FILL_PAUSE_MS = 50;
const RETRY_MS = 15_000;
/** So long after an id was handed out (ms) its tree is asked, unless its first token is listed. */
const ASK_AFTER_MS = 60_000;
/** Pause between two alarms that ask trees (ms). */
const ASK_PAUSE_MS = 1000;
/** Trees that one alarm asks. */
const ASK_STEP = 60;
/** By how much clocks on the network may differ (ms), where no id is handed out twice. */
const MAX_SKEW_MS = 60_000;
/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);
/** A token that is still listed so long after its end (ms) was renewed, or its tree is at work on it. */
const LATE_END_MS = 60_000;

/**
 * One of 16 parts of the list of accessors. It serves listing, and finding tokens by the path that made them: a look-up by
 * accessor goes straight to the tree, which the accessor names. Trees tell of a new token after its creation was answered.
 * Every token comes here, so this is also where a mount that has moved stops issuing, whatever an isolate still believes.
 */
export class AccessorShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #leases: LeaseIndex;
  readonly #schema: Schema;
  readonly #inventory: InventoryStore;
  readonly #old: OldInventory;
  readonly #pool: TreePool;
  readonly #ends: LoneEnds;
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
    this.#ends = new LoneEnds(this.#sql);
    this.#old = new OldInventory(this.#sql);
    this.#schema = new Schema(this.#sql, ACCESSOR_SHARD_MIGRATIONS);
    if (this.#schema.exists) {
      ctx.blockConcurrencyWhile(async () => {
        this.#alarmAt = await pendingAlarm(ctx.storage, currentTime());
        this.#askAt = this.#nextAskAt();
        await this.#arm(this.#nextWorkAt());
      });
    }
  }

  /**
   * Hears what trees have to tell: their new tokens are on the list from the answer on. Safe to repeat.
   *
   * @returns accessors of new tokens that are not listed: nothing is issued any more under the id that issued them.
   */
  tell({ made, changed, sizes, started }: ShardNews): string[] {
    this.#schema.create();
    const closed = new Set([...new Set(made.map(issuedBy))].filter((mount) => mount !== null && this.#isClosed(mount)));
    const refused = made.filter((entry) => closed.has(issuedBy(entry)));
    const listed = closed.size === 0 ? made : made.filter((entry) => !closed.has(issuedBy(entry)));
    this.#moveNow([...changed.map(({ accessor }) => accessor), ...sizes.map(({ root }) => root)]);
    this.#put(listed, changed, sizes);
    this.#pool.started(started, isOneProcess(this.env) ? 0 : MAX_SKEW_MS);
    return refused.map(({ accessor }) => accessor);
  }

  /**
   * Hands out ids for new trees: those of freed trees while there are any, fewer than `count` if need be. One of which no token is
   * known a minute later is asked what has become of it.
   */
  async drawTrees(count: number): Promise<string[]> {
    this.#schema.create();
    const all = within(this.env, this.env.TOKEN_TREE);
    const freed = this.#pool.take(count);
    const trees = freed.length > 0 ? freed : Array.from({ length: count }, () => all.newUniqueId().toString());
    const now = currentTime();
    this.#pool.drawn(trees, now);
    this.#askAt ??= now + ASK_AFTER_MS;
    await this.#arm(this.#askAt);
    return trees;
  }

  /** Hears that nothing is left in a tree: it is handed out again. Safe to repeat. */
  takeTree(tree: string): void {
    this.#schema.create();
    if (!this.#pool.put(tree)) return;
    this.#number ??= numberOf(this.env, this.ctx.id);
    noteFreed(this.#number);
  }

  /**
   * Lists those of `tokens` that are not listed.
   *
   * @returns how many that were, and the accessors of mounts that issue nothing any more, which stay unlisted.
   */
  relist(tokens: readonly { readonly accessor: string; readonly path: string; readonly mount: string | null }[]) {
    this.#schema.create();
    const refused: string[] = [];
    let added = 0;
    for (const { accessor, path, mount } of tokens) {
      if (this.#isListed(accessor)) continue;
      if (mount !== null && this.#isClosed(mount)) {
        refused.push(accessor);
        continue;
      }
      this.#sql.exec("INSERT INTO accessors (accessor, path) VALUES (?, ?)", accessor, path);
      added++;
    }
    return { added, refused };
  }

  /** Drops `accessors` from the list. Safe to repeat. @param freed trees that end with them: see `takeTree`. */
  remove(accessors: readonly string[], freed: readonly string[] = []): void {
    for (const tree of freed) this.takeTree(tree);
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
    void this.#arm(this.#ends.told([...made, ...changed]));
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

  /** True while accessors that were listed before there was an inventory are still coming into it. */
  isFilling(): boolean {
    return this.#fillPosition() !== null;
  }

  /** Does what is due, a step at a time. Safe to repeat after a crash anywhere in it. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    try {
      await this.#fill();
      await this.#askDrawn();
      await this.#endTokens();
    } catch (error) {
      console.error(JSON.stringify({ type: "list of accessors", error: String(error) }));
      return this.#arm(currentTime() + RETRY_MS);
    }
    await this.#arm(this.#nextWorkAt());
  }

  /**
   * Asks trees about those of `accessors` that the inventory does not have, or that should have ended by what it has: a tree that
   * crashes right after an answer does not tell of it.
   */
  async fillMissing(accessors: readonly string[]): Promise<void> {
    if (!this.#schema.exists) return;
    const doubtful = currentTime() - LATE_END_MS;
    const known = this.#inventory.find(accessors).filter(({ expiresAt }) => expiresAt === null || expiresAt > doubtful);
    const sure = new Set(known.map(({ accessor }) => accessor));
    const missing = accessors.filter((accessor) => !sure.has(accessor));
    if (missing.length > 0) this.#put([], await describeListed(this.env, missing));
  }

  async #fill(): Promise<void> {
    const position = this.#fillPosition();
    if (position === null) return;
    const accessors = this.#old.accessors(position, FILL_STEP);
    await this.fillMissing(this.#moveNow(accessors));
    const last = accessors.at(-1);
    if (last !== undefined) this.#sql.exec("UPDATE filling SET position = ?", last);
    else if (await this.#moveSizes()) this.#old.drop();
  }

  /** Moves what was known of these tokens before this inventory. Returns those of which nothing was. */
  #moveNow(accessors: readonly string[]): string[] {
    if (this.#fillPosition() === null) return [];
    const { entries, missing } = this.#old.entries(accessors.filter((accessor) => this.#isUnknown(accessor)));
    this.#put([], entries);
    return missing;
  }

  /** Tells a step's sizes of trees to the shards that keep them now. Returns true when there are no more. */
  async #moveSizes(): Promise<boolean> {
    const trees = this.#old.sizes(FILL_STEP);
    const byShard = Map.groupBy(trees, ({ root }) => accessorShardNumber(root));
    await inGroups([...byShard], async ([number, of]) => {
      const sizes = of.map(({ root, count }) => ({ root, count }));
      const shard = accessorShard(this.env, number);
      if (shard.id.equals(this.ctx.id)) this.#inventory.put({ sizes });
      else await shard.tell({ made: [], changed: [], sizes, started: [] });
    });
    this.#old.forgetSizes(trees.map(({ tree }) => tree));
    return trees.length < FILL_STEP;
  }

  /** Asks trees that were handed out a while ago whether they were ever used: what is alive there is listed then. */
  async #askDrawn(): Promise<void> {
    if (this.#askAt === null || this.#askAt > currentTime()) return;
    const trees = this.#pool.drawnUntil(currentTime() - ASK_AFTER_MS, ASK_STEP);
    const all = within(this.env, this.env.TOKEN_TREE);
    await inGroups(trees, async (treeId) => {
      try {
        const answer = await all.get(all.idFromString(treeId)).report();
        this.#pool.asked(treeId);
        // To be asked made its file.
        if (answer === "empty" && isOneProcess(this.env)) this.takeTree(treeId);
      } catch (error) {
        console.error(JSON.stringify({ type: "list of accessors", tree: treeId, error: String(error) }));
        this.#pool.drawn([treeId], currentTime());
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
    const ask = async ({ treeId, row }: TokenAddress): Promise<LoneEnd> =>
      all.get(all.idFromString(treeId)).endLone(row);
    const { gone, free } = await this.#ends.turn(currentTime(), ask, (entry) => this.#put([], [entry]));
    // What a crash before this leaves on the list is asked for again.
    for (const tree of free) this.takeTree(tree);
    if (gone.length > 0) this.#forget(gone);
  }

  /** When the alarm has work (ms), or null. */
  #nextWorkAt(): number | null {
    const now = currentTime();
    if (this.#fillPosition() !== null) return now + FILL_PAUSE_MS;
    if (!this.#schema.exists) return null;
    const endsAt = this.#ends.nextAt(now);
    return this.#askAt === null || endsAt === null ? (this.#askAt ?? endsAt) : Math.min(this.#askAt, endsAt);
  }

  async #arm(at: number | null): Promise<void> {
    if (at === null || (this.#alarmAt !== null && this.#alarmAt <= at)) return;
    this.#alarmAt = Math.min(at, LATEST_ALARM_MS);
    await this.ctx.storage.setAlarm(this.#alarmAt);
  }

  #fillPosition(): string | null {
    if (!this.#schema.exists) return null;
    return this.#sql.exec<{ position: string }>("SELECT position FROM filling").toArray()[0]?.position ?? null;
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

  /** True for the id of a mount that an earlier release moved or disabled. */
  #isClosed(mount: string): boolean {
    return this.#sql.exec("SELECT 1 FROM closed_mounts WHERE mount = ?", mount).toArray().length > 0;
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
