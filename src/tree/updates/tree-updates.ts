import { currentTime, type Ms, SoonestTimer } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { Ending } from "../../listing/inventory/ended-tokens.ts";
import { type InventoryEntry, newEntry } from "../../listing/inventory/entry.ts";
import {
  CONFIRM_DELAY_MS,
  noteWaiting,
  publish,
  publishPending,
  READ_DELAY_MS,
  RETRY_MS,
  UPDATES,
} from "../../listing/updates/publish.ts";
import type { EndRecord } from "../../token/end-record.ts";
import type { NewTokenIds } from "../../token/ids.ts";
import type { TokenSpec } from "../../token/record.ts";
import type { TreeEnv } from "../env.ts";
import { isLeftToShard } from "../lifecycle.ts";
import type { TreeLife } from "../lifecycle-state.ts";
import type { SweepCandidate } from "../sweep/dead-tokens.ts";
import type { TokenRow } from "../token-rows.ts";
import type { TreeKeys } from "../tree-keys.ts";
import type { TreeStore } from "../tree-store.ts";
import { NewTokens } from "./unlisted-tokens.ts";

/** Maximum rounds of `publishAll`, while more tokens are written. */
const MAX_ROUNDS = 10;
/** Maximum number of changed tokens that are read at once. */
const BATCH = 2000;
/** Tokens whose number of children is remembered. */
const COUNTED_PARENTS = 1000;
/** Tokens whose last use is remembered. */
const REMEMBERED_USES = 10_000;
/** Resolution of the last use: the uses of a token are published at most once an hour. */
const USE_HOUR_MS = 3_600_000;

/**
 * Publishes changes of the tokens of one tree to the lists, some time after the answer. New tokens are published until
 * the shards have them, and no crash loses one: the rows say which are pending. Other changes are kept in memory only.
 */
export class TreeUpdates {
  readonly #env: TreeEnv;
  readonly #treeId: string;
  readonly #keys: TreeKeys;
  readonly #tokens: TreeStore;
  readonly #life: TreeLife;
  readonly #arm: () => void;
  /** Rows with changes to publish. */
  readonly #changed = new Set<number>();
  /** Number of children, by row: counted once, or 0 for a new token, and then updated with every change. */
  readonly #children = new GenerationalCache<number, number>(COUNTED_PARENTS);
  /** The hour in which a token was used last, by row. The tree does not store it. */
  readonly #uses = new GenerationalCache<number, Ms>(REMEMBERED_USES);
  /** Number of tokens that have a parent; null before they were counted. */
  #below: number | null = null;
  #sizeChanged = false;
  readonly #newTokens: NewTokens;
  readonly #timer = new SoonestTimer();

  /** @param arm see `TreeMaintenance.arm` */
  constructor(env: TreeEnv, treeId: string, keys: TreeKeys, tokens: TreeStore, life: TreeLife, arm: () => void) {
    this.#env = env;
    this.#treeId = treeId;
    this.#keys = keys;
    this.#tokens = tokens;
    this.#life = life;
    this.#arm = arm;
    this.#newTokens = new NewTokens(tokens.listing, {
      describe: (rows) => this.describeNew(rows),
      publish: (entry) => publish(env, { kind: "made", value: entry, ledger: null }),
      isOnItsWay: (accessor) => UPDATES.isOnItsWay(accessor),
    });
  }

  /** True when there are new tokens that the shards have not confirmed. A single token counts if it was queued here. */
  get hasUnlisted(): boolean {
    return this.#newTokens.hasUnlisted;
  }

  /** Resumes publishing of tokens that the shards have not confirmed. */
  resume(): void {
    if (!this.hasUnlisted) return;
    this.#life.happened({ kind: "acknowledged", progress: this.#newTokens.progress(), now: currentTime() });
    this.#hasUpdates();
  }

  /** Queues the first token of a tree, which was just written. For `ledger` see `AllocatedTree`. */
  started(spec: TokenSpec, ids: NewTokenIds, ledger: number | null): void {
    const entry = newEntry(spec, ids.accessor, null);
    publish(this.#env, { kind: "made", value: entry, ledger });
    if (isLeftToShard(this.#life.now)) return;
    this.#newTokens.started(ids.row, ids.accessor);
    this.#lookIn(CONFIRM_DELAY_MS);
  }

  born(row: number, parent: number): void {
    this.#life.happened({ kind: "child", now: currentTime() });
    this.#children.set(row, 0, 1);
    this.#addChildren(parent, 1);
    this.#addBelow(1);
    this.#newTokens.written(row);
    this.#hasUpdates();
  }

  /** Notes that the uses, the expiry or the children of a token have changed. */
  changed(row: number): void {
    this.#changed.add(row);
    this.#hasUpdates();
  }

  /** Notes a use of a token at `now`. The first use of each hour is published. */
  used(row: number, now: Ms): void {
    if (!tracksLastUse(this.#env) || this.#uses.get(row) === hourOf(now)) return;
    this.#uses.set(row, hourOf(now), 1);
    this.#changed.add(row);
    this.#lookIn(READ_DELAY_MS);
  }

  /** The hour in which a token was used last; null: not known here. */
  lastUsed(row: number): Ms | null {
    return this.#uses.get(row) ?? null;
  }

  /** Until when another use of a token that was used at `now` needs no update; null: for ever. */
  usedUntil(now: Ms): Ms | null {
    return tracksLastUse(this.#env) ? hourOf(now) + USE_HOUR_MS : null;
  }

  freed(rows: readonly number[]): void {
    if (rows.length === 0) return;
    for (const row of rows) this.changed(row);
    this.#addBelow(-rows.length);
  }

  /** Notes that `count` dead tokens were detached from their parents. */
  cutOff(count: number): void {
    this.#addBelow(-count);
  }

  died(tokens: readonly Pick<SweepCandidate, "row" | "parent" | "isBelowDead">[]): void {
    const children = tokens.filter(({ parent }) => parent !== null);
    for (const { parent, isBelowDead } of children) {
      if (parent !== null && !isBelowDead) this.#addChildren(parent, -1);
    }
    if (children.length > 0) this.#addBelow(-children.length);
    // The inventory counts trees by their oldest token, and this token may have become the oldest.
    const oldest = this.#tokens.oldest();
    if (oldest !== null && tokens.some(({ row }) => row < oldest)) this.changed(oldest);
  }

  /** Resets the state when the tree is freed. */
  forget(): void {
    this.#changed.clear();
    this.#sizeChanged = false;
    this.#below = null;
    this.#newTokens.forget();
    noteWaiting(this.#treeId, false);
  }

  /** Moves all pending updates into the queue of this isolate. */
  async enqueueAll(): Promise<void> {
    this.#noteListed();
    await this.#read();
    if (this.#newTokens.isBehind) await this.publishAll();
  }

  /** Sends all pending updates now. Once it returns, the shards have them, unless one did not answer. */
  async publishAll(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await this.#read();
      await publishPending(this.#env);
      if (!this.#noteListed()) break;
    }
    if (this.#newTokens.isOnItsWay) this.#life.happened({ kind: "unanswered", retryAt: currentTime() + RETRY_MS });
  }

  /** Runs by the timer: queues pending updates, and notes which new tokens the shards have confirmed. */
  async look(): Promise<void> {
    try {
      this.#noteListed();
      await this.#read();
      if (this.#newTokens.isOnItsWay || this.#changed.size > 0) this.#lookIn(CONFIRM_DELAY_MS);
    } catch (error) {
      console.error(JSON.stringify({ type: "inventory", error: String(error) }));
      this.#lookIn(RETRY_MS);
    }
  }

  /** Publishes the first token, even if listed. False: it is not alive. @throws when its shard does not answer. */
  async publishFirst(): Promise<boolean> {
    await this.#keys.open();
    const oldest = this.#tokens.oldest();
    const [entry] = this.describeNew(oldest === null ? [] : [oldest]);
    if (!entry) return false;
    publish(this.#env, { kind: "made", value: entry, ledger: null });
    await publishPending(this.#env);
    if (UPDATES.isOnItsWay(entry.accessor)) throw new Error("a shard does not answer");
    return true;
  }

  /**
   * `describe`, for tokens that no list has yet. Revokes those that a watermark has ended: its clean-up finds tokens by
   * the lists, and after the clean-up the watermark is forgotten some time later.
   */
  describeNew(rows: readonly number[]): InventoryEntry[] {
    const entries = this.describe(rows);
    if (entries.length < rows.length && this.#tokens.revokeEndedAbove(rows) > 0) this.#arm();
    return entries;
  }

  /** Inventory entries of the live tokens among `rows`. The caller has loaded the keys for seals. */
  describe(rows: readonly number[]): InventoryEntry[] {
    const now = currentTime();
    const oldest = this.#tokens.oldest();
    return rows.flatMap((row) => {
      const token = this.#tokens.live(row, now);
      if (!token) return [];
      const { renewedAt, usesLeft } = token;
      const entry = this.newEntryOf(token, this.#tokens.liveness.parentOf(token, now));
      const counts = { children: this.#countChildren(row), lastUsed: this.lastUsed(row) };
      return [{ ...entry, first: row === oldest, renewedAt, usesLeft, ...counts }];
    });
  }

  /** The entry of a token as after its creation, with its present expiry. @param parent row of its parent, or null. */
  newEntryOf({ fixed, expiresAt }: TokenRow, parent: number | null): InventoryEntry {
    const above = parent === null ? null : this.#tokens.accessorOf(parent);
    return newEntry({ record: fixed.record, expiresAt }, fixed.accessor, above);
  }

  /** The end of a token for the lists, with its entry: it may not be listed yet. */
  ending(token: TokenRow, end: EndRecord): Ending {
    return { accessor: token.fixed.accessor, end, entry: this.newEntryOf(token, token.parent) };
  }

  /** Publishes the size of the tree, which the entries of its tokens do not contain. */
  sizeIsWanted(): void {
    this.#addBelow(0);
  }

  #hasUpdates(): void {
    noteWaiting(this.#treeId, true);
    this.#lookIn(READ_DELAY_MS);
  }

  /** Reads the changed tokens, and moves their updates into the queue of this isolate. */
  async #read(): Promise<void> {
    await this.#keys.open();
    for (const row of this.#newTokens.enqueue()) this.#changed.delete(row);
    const rows = [...this.#changed].slice(0, BATCH);
    for (const row of rows) this.#changed.delete(row);
    for (const entry of this.describe(rows)) publish(this.#env, { kind: "changed", value: entry });
    if (this.#sizeChanged) this.#publishTreeSize();
    this.#sizeChanged = false;
    if (this.#changed.size === 0 && !this.#newTokens.isBehind) noteWaiting(this.#treeId, false);
  }

  /** Notes which new tokens the shards have confirmed. Returns true when there is more to publish. */
  #noteListed(): boolean {
    const progress = this.#newTokens.noteListed();
    this.#life.happened({ kind: "acknowledged", progress, now: currentTime() });
    if (progress.isMore) this.#hasUpdates();
    return progress.isMore || this.#changed.size > 0;
  }

  #publishTreeSize(): void {
    const oldest = this.#tokens.oldest();
    const root = oldest === null ? undefined : this.#tokens.find(oldest)?.fixed.accessor;
    // The inventory has no tree without tokens.
    if (root === undefined) return;
    this.#below ??= this.#tokens.countBelow();
    publish(this.#env, { kind: "size", value: { root, count: this.#below + 1 } });
  }

  #countChildren(row: number): number {
    const known = this.#children.get(row);
    const count = known ?? this.#tokens.countChildren(row);
    // A token without children needs no entry.
    if (count === 0) this.#children.forget(row);
    else if (known === undefined) this.#children.set(row, count, 1);
    return count;
  }

  #addChildren(parent: number, by: number): void {
    const known = this.#children.get(parent);
    if (known !== undefined) this.#children.set(parent, known + by, 1);
    this.changed(parent);
  }

  #addBelow(by: number): void {
    if (this.#below !== null) this.#below += by;
    this.#sizeChanged = true;
    this.#lookIn(READ_DELAY_MS);
  }

  #lookIn(ms: Ms): void {
    this.#timer.in(ms, () => void this.look());
  }
}

function tracksLastUse(env: Pick<TreeEnv, "TRACK_LAST_USE">): boolean {
  return env.TRACK_LAST_USE !== "false";
}

function hourOf(ms: Ms): Ms {
  return ms - (ms % USE_HOUR_MS);
}
