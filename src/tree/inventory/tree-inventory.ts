import { currentTime } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { Env } from "../../env.ts";
import { accessorShard, accessorShardNumber, treeShardNumber } from "../index/accessor-shard.ts";
import type { SweepCandidate, SweepObserver } from "../sweep.ts";
import type { TokenObserver, TokenRow, TreeStore } from "../tree-store.ts";
import { type InventoryEntry, mountIdOf, roleNameOf } from "./entry.ts";

/** From a change to the call that tells the inventory (ms): changes of that time go together. */
const DELAY_MS = 250;
/** The same after a call that failed. */
const RETRY_MS = 5000;
/** Tokens that one call tells about. */
const BATCH = 500;
/** Tokens whose number of children is remembered. */
const COUNTED_PARENTS = 1000;

/** Tokens whose last use is remembered. */
const REMEMBERED_USES = 10_000;
/** Uses are told to the hour (ms), and so no more often. */
const USE_HOUR_MS = 3_600_000;

/** What the inventory needs of the tree around it. */
interface InventoryDeps {
  readonly env: Env;
  readonly treeId: string;
  readonly tokens: () => TreeStore;
  /** Gets the keys for seals of rows, before a token is read. */
  readonly open: () => Promise<void>;
}

/** Tells the inventory what becomes of the tokens of one tree, some time after it was answered. */
export class TreeInventory implements TokenObserver, SweepObserver {
  readonly #tree: InventoryDeps;
  /** Rows that the inventory is to hear of. */
  #changed = new Set<number>();
  /** Numbers of children, counted once and then kept with every change. */
  readonly #children = new GenerationalCache<number, number>(COUNTED_PARENTS);
  /** The hour in which a token was used last (ms), by row. A use is written nowhere in the tree. */
  readonly #uses = new GenerationalCache<number, number>(REMEMBERED_USES);
  /** Tokens below another; null before they were counted. */
  #below: number | null = null;
  #sizeChanged = false;
  #telling: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(tree: InventoryDeps) {
    this.#tree = tree;
  }

  /** A token was written and listed below `parent`; null for the first of a tree. */
  born(row: number, parent: number | null): void {
    this.changed(row);
    if (parent === null) return;
    this.#addChildren(parent, 1);
    this.#addBelow(1);
  }

  changed(row: number): void {
    this.#changed.add(row);
    this.#tellIn(DELAY_MS);
  }

  /** A token was used. The first use of each hour is told. `now` in ms. */
  used(row: number, now: number): void {
    if (!tracksLastUse(this.#tree.env) || this.#uses.get(row) === hourOf(now)) return;
    this.#uses.set(row, hourOf(now), 1);
    this.changed(row);
  }

  /** Until when (ms) another use of a token that was used at `now` is nothing new; null: for ever. */
  usedUntil(now: number): number | null {
    return tracksLastUse(this.#tree.env) ? hourOf(now) + USE_HOUR_MS : null;
  }

  freed(rows: readonly number[]): void {
    if (rows.length === 0) return;
    for (const row of rows) this.changed(row);
    this.#addBelow(-rows.length);
  }

  cutOff(count: number): void {
    this.#addBelow(-count);
  }

  /** Tokens were deleted. */
  died(tokens: readonly SweepCandidate[]): void {
    const children = tokens.filter(({ parent }) => parent !== null);
    for (const [parent, of] of Map.groupBy(children, ({ parent }) => parent)) {
      if (parent !== null) this.#addChildren(parent, -of.length);
    }
    if (children.length > 0) this.#addBelow(-children.length);
    // Trees are counted by their oldest token, and this may have become it.
    const oldest = this.#store.oldest();
    if (oldest !== null && tokens.some(({ row }) => row < oldest)) this.changed(oldest);
  }

  /** The storage of the tree is being deleted. */
  forget(): void {
    this.#changed.clear();
    this.#sizeChanged = false;
    this.#below = null;
  }

  /** Waits for the call that is under way. */
  async settled(): Promise<void> {
    await this.#telling;
  }

  /** Tells all that there is to tell now. */
  async tell(): Promise<void> {
    await this.#telling;
    if (this.#changed.size === 0 && !this.#sizeChanged) return;
    this.#telling = this.#tell();
    try {
      await this.#telling;
    } catch (error) {
      console.error(JSON.stringify({ type: "inventory", error: String(error) }));
      this.#tellIn(RETRY_MS);
    } finally {
      this.#telling = null;
    }
    if (this.#changed.size > 0) this.#tellIn(DELAY_MS);
  }

  /** What the inventory keeps of those of the rows that are alive. The keys for seals are open. */
  describe(rows: readonly number[]): InventoryEntry[] {
    const tokens = this.#store;
    if (!tokens.isCreated) return [];
    const now = currentTime();
    const oldest = tokens.oldest();
    return rows.flatMap((row) => {
      const token = tokens.live(row, now);
      return token ? [this.#entryOf(token, oldest, now)] : [];
    });
  }

  /** Tells the size of the tree, which what its tokens say does not hold. */
  tellSize(): void {
    this.#addBelow(0);
  }

  get #store(): TreeStore {
    return this.#tree.tokens();
  }

  async #tell(): Promise<void> {
    await this.#tree.open();
    const rows = [...this.#changed].slice(0, BATCH);
    const sizeChanged = this.#sizeChanged;
    // What changes from here on is told by the next call.
    for (const row of rows) this.#changed.delete(row);
    this.#sizeChanged = false;
    try {
      const byShard = Map.groupBy(this.describe(rows), ({ accessor }) => accessorShardNumber(accessor));
      await Promise.all([
        ...[...byShard].map(([shard, entries]) => accessorShard(this.#tree.env, shard).describe(entries)),
        sizeChanged ? this.#tellSize() : null,
      ]);
    } catch (error) {
      for (const row of rows) this.#changed.add(row);
      this.#sizeChanged ||= sizeChanged;
      throw error;
    }
  }

  async #tellSize(): Promise<void> {
    const { env, treeId } = this.#tree;
    const tokens = this.#store;
    const oldest = tokens.isCreated ? tokens.oldest() : null;
    const first = oldest === null ? null : tokens.find(oldest);
    await accessorShard(env, treeShardNumber(treeId)).setTree({
      tree: treeId,
      mount: first ? mountIdOf(first.fixed.record) : "",
      root: first?.fixed.accessor ?? "",
      count: first ? this.#countBelow() + 1 : 0,
    });
  }

  #entryOf(token: TokenRow, oldest: number | null, now: number): InventoryEntry {
    const { record, accessor } = token.fixed;
    const parent = this.#store.isOrphan(token, now) || token.parent === null ? null : this.#store.find(token.parent);
    return {
      accessor,
      parent: parent?.fixed.accessor ?? null,
      first: token.row === oldest,
      mount: mountIdOf(record),
      path: record.path,
      role: roleNameOf(record),
      displayName: record.displayName,
      policies: record.policies,
      entityId: record.entityId,
      expiresAt: token.expires_at,
      renewedAt: token.renewed_at,
      numUses: record.numUses,
      usesLeft: token.uses_left,
      period: record.period,
      explicitMaxTtl: record.explicitMaxTtl,
      children: this.#countChildren(token.row),
      leased: record.leased,
      ...(record.watermark !== undefined && { watermark: record.watermark }),
      lastUsed: this.#uses.get(token.row) ?? null,
    };
  }

  #countChildren(row: number): number {
    const known = this.#children.get(row);
    if (known !== undefined) return known;
    const count = this.#store.countChildren(row);
    // Of a token without children nothing needs to be remembered.
    if (count > 0) this.#children.set(row, count, 1);
    return count;
  }

  #countBelow(): number {
    this.#below ??= this.#store.countBelow();
    return this.#below;
  }

  #addChildren(parent: number, by: number): void {
    const known = this.#children.get(parent);
    if (known !== undefined) this.#children.set(parent, known + by, 1);
    this.changed(parent);
  }

  #addBelow(by: number): void {
    if (this.#below !== null) this.#below += by;
    this.#sizeChanged = true;
    this.#tellIn(DELAY_MS);
  }

  #tellIn(ms: number): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.tell();
    }, ms);
  }
}

/** True unless the setting turns it off. */
function tracksLastUse(env: Pick<Env, "TRACK_LAST_USE">): boolean {
  return env.TRACK_LAST_USE !== "false";
}

function hourOf(ms: number): number {
  return ms - (ms % USE_HOUR_MS);
}
