import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { FIRST_PIECE, rowsOfNextPiece } from "../../base/turns/pace.ts";
import { sweepThreads } from "../../base/turns/threads.ts";
import type { SweepTurns } from "../../base/turns/turns.ts";
import type { TreeLeases } from "../../lease/tree-leases.ts";
import type { Ending } from "../../listing/inventory/shard/ended.ts";
import { cancelUpdatesOf } from "../../listing/updates/publish.ts";
import { removeFromLists } from "../../listing/updates/remove-from-lists.ts";
import { countEvent } from "../../metrics/events.ts";
import type { EndRecord } from "../../token/end-record.ts";
import { accessorTexts, rowGeneratedAt } from "../../token/ids.ts";
import type { CubbyholeStore } from "../cubbyhole/store.ts";
import { customIdsShard, customIdsShardNumber } from "../custom-ids.ts";
import type { TreeEnv } from "../env.ts";
import { type TreeEnd, treeReuse } from "../supply/tree-end.ts";
import type { TreeStore } from "../tree-store.ts";
import { endingOf } from "../unswept-end.ts";
import type { TreeUpdates } from "../updates/tree-updates.ts";
import { DeadTokens, deleteVictims, type SweepCandidate } from "./dead-tokens.ts";

/** Tokens of one step, where there are so many: each list is called for some 200 at once, which costs it little more than of a few. */
const STEP_ROWS = 3200;
/** Rows that a piece of planning reads, from indexes alone. */
const PLAN_ROWS = 500;
/**
 * Steps of one alarm; with its calls to the shards of accessors and of chosen ids below the 1,000 that the platform allows. What
 * is left is the next alarm's.
 */
const SWEEP_STEPS = 30;

/** So long after its creation (ms) a token is on the list, unless something failed. */
const LISTED_AFTER_MS = 60_000;

/** What one step did. */
interface SweepStep {
  /** Tokens that it deleted. */
  readonly swept: number;
  /** True when nothing dead was left before it. */
  readonly done: boolean;
  /** How the token ended that the caller takes off the list; absent when it is still there. */
  readonly end?: EndRecord;
}

/** What the sweep needs of the tree around it. */
interface SweepDeps {
  readonly env: TreeEnv;
  readonly sql: SqlStorage;
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly cubbyhole: CubbyholeStore;
  readonly inventory: TreeUpdates;
  readonly leases: TreeLeases;
  readonly end: TreeEnd;
}

/** Takes what is dead out of a tree, with its traces elsewhere. */
export class TreeSweep {
  readonly #tree: SweepDeps;
  readonly #dead: DeadTokens;
  /** Rows that the next piece works on. */
  #rows = FIRST_PIECE;
  readonly #turns: SweepTurns;
  /** Ends with the last run that was asked for. */
  #last: Promise<void> = Promise.resolve();

  constructor(tree: SweepDeps) {
    this.#tree = tree;
    this.#turns = sweepThreads().turnsOfTree();
    this.#dead = new DeadTokens(tree.sql, accessorTexts(tree.treeId), tree.inventory);
  }

  /** When a tree whose alarm has come shall sweep (ms), while many others do; null: now. */
  putOffTo(): number | null {
    return this.#turns.putOffTo();
  }

  /**
   * As many steps as one alarm takes, with requests served in between. Of several callers each has its turn.
   *
   * @returns whether nothing dead is left.
   */
  run(): Promise<boolean> {
    return this.#inTurn(() => this.#run(this.#turns));
  }

  /**
   * The same for a tree whose only token was ended by a request, as the requests come. Its pieces are too small to share the thread by
   * turns: waiting for those would take longer than the next tree takes to end, and trees that wait stay in memory.
   */
  runAtOnce(): Promise<boolean> {
    return this.#inTurn(() => this.#run(null));
  }

  /** One step for a caller that takes the token of this row, the only one, off the list itself: how it ended. null: it is still there. */
  stepFor(row: number): Promise<EndRecord | null> {
    return this.#inTurn(async () => {
      const { swept, end = null } = await this.#step(row, this.#turns);
      countEvent("tokens_swept", [], swept);
      return end;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  async #run(turns: SweepTurns | null): Promise<boolean> {
    countEvent("sweep", [], 1);
    try {
      for (let step = 0; step < SWEEP_STEPS; step++) {
        this.#turns.began(this.#tree.treeId);
        const { swept, done } = await this.#step(null, turns);
        countEvent("tokens_swept", [], swept);
        if (done) return true;
      }
      return false;
    } finally {
      this.#turns.ended(this.#tree.treeId);
      countEvent("sweep", [], -1);
    }
  }

  /** One step. Safe to repeat after a crash anywhere in it. */
  step(): Promise<SweepStep> {
    return this.#step(null, this.#turns);
  }

  /**
   * @param delisted row of a token that the caller takes off the list when it is gone; null: none.
   * @param turns that its pieces take; null: none.
   */
  async #step(delisted: number | null, turns: SweepTurns | null): Promise<SweepStep> {
    const { sql, tokens, cubbyhole, inventory, leases } = this.#tree;
    const victims = await this.#find(turns);
    // The tree may have been freed meanwhile.
    if (victims === null || !tokens.isCreated) return { swept: 0, done: true };
    if (victims.length === 0) return { swept: 0, done: false };
    // A token that holds more leases than one step takes goes with a later one.
    if (!leases.endOfTokens(victims.map(({ row }) => row))) {
      this.#dead.putBack();
      return { swept: 0, done: false };
    }
    // Traces elsewhere go first: after a crash in between the rows are still here and the step is repeated.
    await this.#forgetElsewhere(victims, delisted, turns);
    for (let at = 0; at < victims.length; ) {
      const piece = victims.slice(at, at + this.#rows);
      at += piece.length;
      await this.#piece(turns, () => {
        const rows = piece.map(({ row }) => row);
        cubbyhole.deleteOf(rows);
        inventory.died(deleteVictims(sql, piece));
        tokens.deleted(rows, currentTime(), treeReuse().reuses);
      });
    }
    const end = victims.find(({ row }) => row === delisted)?.end;
    return { swept: victims.length, done: false, ...(end && { end }) };
  }

  /** The tokens that a step deletes; null when nothing dead is left. */
  async #find(turns: SweepTurns | null): Promise<SweepCandidate[] | null> {
    const isGone = () => !this.#tree.tokens.isCreated;
    while (this.#dead.isPlanning && !isGone()) await this.#piece(turns, () => this.#dead.planOn(PLAN_ROWS));
    const victims = await this.#piece(turns, () => (isGone() ? null : this.#dead.next(currentTime(), this.#rows)));
    if (victims === null) this.#dead.forget();
    while (victims && victims.length > 0 && victims.length < STEP_ROWS) {
      const more = await this.#piece(turns, () => (isGone() ? [] : this.#dead.more(currentTime(), this.#rows)));
      if (more.length === 0) break;
      victims.push(...more);
    }
    return victims;
  }

  /** A piece that holds the thread: its time decides how large the next one is. During a call others are served for an unknown time. */
  async #piece<T>(turns: SweepTurns | null, work: () => T): Promise<T> {
    const measured = () => {
      const began = currentTime();
      const result = work();
      this.#rows = rowsOfNextPiece(this.#rows, currentTime() - began);
      return result;
    };
    return turns ? turns.piece(measured) : measured();
  }

  async #forgetElsewhere(
    victims: readonly SweepCandidate[],
    delisted: number | null,
    turns: SweepTurns | null,
  ): Promise<void> {
    const { env, treeId } = this.#tree;
    const customIds = victims.flatMap(({ row, customIdKey }) =>
      customIdKey === null ? [] : [{ key: customIdKey, treeId, row }],
    );
    await this.#removeFromLists(victims, delisted, turns);
    await inGroups([...Map.groupBy(customIds, ({ key }) => customIdsShardNumber(key))], async ([shard, of]) => {
      const release = async () => customIdsShard(env, shard).release(of);
      return turns ? turns.piece(release) : release();
    });
  }

  async #removeFromLists(
    victims: readonly SweepCandidate[],
    delisted: number | null,
    turns: SweepTurns | null,
  ): Promise<void> {
    const { env, end } = this.#tree;
    end.deletes();
    await cancelUpdatesOf(victims.filter(({ row }) => row === delisted).map(({ accessor }) => accessor));
    const others = victims.filter(({ row }) => row !== delisted);
    if (others.length === 0) return;
    const isLast = end.offersWith(victims.map(({ row }) => row));
    await removeFromLists(
      env,
      others.map((victim) => this.#endingOf(victim)),
      turns,
      isLast,
    );
  }

  /** What the lists keep of a token that has ended. They need not know of one that was just made. */
  #endingOf({ row, accessor, end }: SweepCandidate): Ending {
    const { tokens } = this.#tree;
    // One that ended before it was described counts as listed.
    const mayBeUnlisted = row > (tokens.listing.upTo ?? 0) || rowGeneratedAt(row) > end.at - LISTED_AFTER_MS;
    const token = mayBeUnlisted && end.how !== "never issued" ? tokens.find(row) : null;
    return token ? endingOf(tokens, token, end) : { accessor, end };
  }
}
