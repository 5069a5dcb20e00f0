import { currentTime } from "../base/clock.ts";
import { inGroups } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { countEvent } from "../metrics/events.ts";
import { routedIdText } from "../token/ids.ts";
import type { CubbyholeStore } from "./cubbyhole/store.ts";
import { customIdsShard, customIdsShardNumber } from "./custom-ids.ts";
import { takeOffLists } from "./index/take-off-lists.ts";
import { tellNoMoreOf } from "./index/tell-shards.ts";
import type { TreeInventory } from "./inventory/tree-inventory.ts";
import { deleteVictims, nextVictims, type SweepCandidate } from "./sweep.ts";
import { FIRST_ROWS, rowsOfNextStep } from "./sweep-pace.ts";
import { type SweepTurns, turnsOf } from "./sweep-turns.ts";

/** Pieces that the deletion of one step is done in. */
const DELETIONS = 4;
/** Tokens that are not worth a piece of their own. */
const SMALL_PIECE = 50;
/**
 * Steps of one alarm; with its calls to the shards of accessors and of chosen ids below the 1,000 that the platform allows. What
 * is left is the next alarm's.
 */
const SWEEP_STEPS = 30;

/** What one step did. */
interface SweepStep {
  /** Tokens that it deleted. */
  readonly swept: number;
  /** True when nothing dead was left before it. */
  readonly done: boolean;
}

/** What the sweep needs of the tree around it. */
interface SweepDeps {
  readonly env: Env;
  readonly sql: SqlStorage;
  readonly treeId: string;
  /** False when the tree was freed meanwhile. */
  readonly isCreated: () => boolean;
  readonly cubbyhole: CubbyholeStore;
  readonly inventory: TreeInventory;
  /** Ends leases of tokens that go. False when there are more of them: the tokens stay for now. */
  readonly endLeasesOf: (rows: readonly number[]) => boolean;
  /** These rows were deleted, in this transaction. */
  readonly deleted: (rows: readonly number[]) => void;
  /** True when these are the last tokens, and a shard is to be told that the tree can be taken again. */
  readonly givesBack: (rows: readonly number[]) => boolean;
}

/** Takes what is dead out of a tree, with its traces elsewhere. */
export class TreeSweep {
  readonly #tree: SweepDeps;
  /** Rows that the next step works on. */
  #rows = FIRST_ROWS;
  /** The longest time that the step under way held the thread at once (ms). */
  #longest = 0;
  readonly #turns: SweepTurns;
  /** Ends with the last run that was asked for. */
  #last: Promise<void> = Promise.resolve();

  constructor(tree: SweepDeps) {
    this.#tree = tree;
    this.#turns = turnsOf(tree.env);
  }

  /** When a tree whose alarm has come shall sweep (ms), while many others do; null: now. */
  putOffTo(): number | null {
    return this.#turns.putOffTo();
  }

  /** As many steps as one alarm takes, with requests served in between. Of several callers each has its turn. */
  run(): Promise<void> {
    return this.#inTurn(() => this.#run());
  }

  /** One step for a caller that takes the token of this row, the only one, off the list itself. False when it is still there. */
  stepFor(row: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const { swept } = await this.step(row);
      countEvent("tokens_swept", [], swept);
      return swept > 0;
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

  async #run(): Promise<void> {
    countEvent("sweep", [], 1);
    try {
      for (let step = 0; step < SWEEP_STEPS; step++) {
        this.#turns.began(this.#tree.treeId);
        const { swept, done } = await this.step();
        countEvent("tokens_swept", [], swept);
        if (done) return;
      }
    } finally {
      this.#turns.ended(this.#tree.treeId);
      countEvent("sweep", [], -1);
    }
  }

  /**
   * One step. Safe to repeat after a crash anywhere in it.
   *
   * @param delisted row of a token that the caller takes off the list when it is gone; null: none.
   */
  async step(delisted: number | null = null): Promise<SweepStep> {
    const { sql, isCreated, cubbyhole, inventory, endLeasesOf, deleted } = this.#tree;
    if (!isCreated()) return { swept: 0, done: true };
    this.#longest = 0;
    const found = await this.#piece(() => {
      const victims = nextVictims(sql, currentTime(), this.#rows, inventory);
      return victims && { victims, accessors: this.#accessorsOf(victims) };
    });
    if (found === null) return { swept: 0, done: true };
    const { victims, accessors } = found;
    if (victims.length === 0) return { swept: 0, done: false };
    const rows = victims.map(({ row }) => row);
    // A token that holds more leases than one step takes goes with a later one.
    if (!endLeasesOf(rows)) return { swept: 0, done: false };
    // Traces elsewhere go first: after a crash in between the rows are still here and the step is repeated.
    await this.#forgetElsewhere(victims, accessors, delisted);
    const size = Math.max(SMALL_PIECE, Math.ceil(victims.length / DELETIONS));
    for (let at = 0; at < victims.length; at += size) {
      const piece = victims.slice(at, at + size);
      await this.#piece(() => {
        cubbyhole.deleteOf(piece.map(({ row }) => row));
        inventory.died(deleteVictims(sql, piece));
        deleted(piece.map(({ row }) => row));
      });
    }
    this.#rows = rowsOfNextStep(this.#rows, this.#longest);
    return { swept: victims.length, done: false };
  }

  /** A piece that holds the thread: the next step goes by how long. During a call others are served for an unknown time. */
  #piece<T>(work: () => T): Promise<T> {
    return this.#turns.piece(() => {
      const began = currentTime();
      const result = work();
      this.#longest = Math.max(this.#longest, currentTime() - began);
      return result;
    });
  }

  #accessorsOf(victims: readonly SweepCandidate[]): string[] {
    return victims.map(({ row, accessorTail }) => routedIdText(this.#tree.treeId, row, new Uint8Array(accessorTail)));
  }

  async #forgetElsewhere(
    victims: readonly SweepCandidate[],
    accessors: readonly string[],
    delisted: number | null,
  ): Promise<void> {
    const { env, treeId } = this.#tree;
    const customIds = victims.flatMap(({ row, customIdKey }) =>
      customIdKey === null ? [] : [{ key: customIdKey, treeId, row }],
    );
    await this.#takeOffLists(victims, accessors, delisted);
    await inGroups([...Map.groupBy(customIds, ({ key }) => customIdsShardNumber(key))], ([shard, of]) =>
      this.#turns.piece(async () => customIdsShard(env, shard).release(of)),
    );
  }

  async #takeOffLists(
    victims: readonly SweepCandidate[],
    accessors: readonly string[],
    delisted: number | null,
  ): Promise<void> {
    const { env, givesBack } = this.#tree;
    const isAsked = (_: string, at: number) => victims[at]?.row === delisted;
    await tellNoMoreOf(accessors.filter(isAsked));
    const others = accessors.filter((accessor, at) => !isAsked(accessor, at));
    if (others.length === 0) return;
    const isLast = givesBack(victims.map(({ row }) => row));
    await takeOffLists(env, others, this.#turns, isLast);
  }
}
