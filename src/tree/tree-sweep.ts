import { currentTime } from "../base/clock.ts";
import type { Env } from "../env.ts";
import { countEvent } from "../metrics/events.ts";
import { routedIdText } from "../token/ids.ts";
import type { CubbyholeStore } from "./cubbyhole/store.ts";
import { customIdsShard, customIdsShardNumber } from "./custom-ids.ts";
import { accessorShard, accessorShardNumber } from "./index/accessor-shard.ts";
import { tellNoMoreOf } from "./index/tell-shards.ts";
import type { TreeInventory } from "./inventory/tree-inventory.ts";
import { isOneProcess } from "./live-tokens.ts";
import { deleteVictims, nextVictims, type SweepCandidate } from "./sweep.ts";
import { FIRST_ROWS, pauseAfter, rowsOfNextStep, wasBusy } from "./sweep-pace.ts";

/** Pieces that the deletion of one step is done in. */
const DELETIONS = 4;
/** Calls to shards in one piece, where those have the same thread. */
const CALLS_AT_ONCE = 2;
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
  readonly cubbyhole: CubbyholeStore;
  readonly inventory: TreeInventory;
  /** Ends leases of tokens that go. False when there are more of them: the tokens stay for now. */
  readonly endLeasesOf: (rows: readonly number[]) => boolean;
}

/** Takes what is dead out of a tree, with its traces elsewhere. */
export class TreeSweep {
  readonly #tree: SweepDeps;
  /** Rows that the next step works on. */
  #rows = FIRST_ROWS;
  /** The longest deletion of the step under way (ms). */
  #longest = 0;
  /** How long the thread was held since the last pause (ms). */
  #held = 0;
  /** True while others want the thread. */
  #busy = false;

  constructor(tree: SweepDeps) {
    this.#tree = tree;
  }

  /** As many steps as one alarm takes, with requests served in between. */
  async run(): Promise<void> {
    countEvent("sweep", [], 1);
    try {
      for (let step = 0; step < SWEEP_STEPS; step++) {
        const { swept, done } = await this.step();
        countEvent("tokens_swept", [], swept);
        if (done) return;
      }
    } finally {
      countEvent("sweep", [], -1);
    }
  }

  /** One step. Safe to repeat after a crash anywhere in it. */
  async step(): Promise<SweepStep> {
    const { sql, cubbyhole, inventory, endLeasesOf } = this.#tree;
    this.#longest = 0;
    const victims = await this.#piece(() => nextVictims(sql, currentTime(), this.#rows, inventory));
    if (victims === null) return { swept: 0, done: true };
    if (victims.length === 0) return { swept: 0, done: false };
    const rows = victims.map(({ row }) => row);
    // A token that holds more leases than one step takes goes with a later one.
    if (!endLeasesOf(rows)) return { swept: 0, done: false };
    // Traces elsewhere go first: after a crash in between the rows are still here and the step is repeated.
    await this.#forgetElsewhere(victims);
    const size = Math.ceil(victims.length / DELETIONS);
    for (let at = 0; at < victims.length; at += size) {
      const piece = victims.slice(at, at + size);
      await this.#piece(() => {
        const began = currentTime();
        cubbyhole.deleteOf(piece.map(({ row }) => row));
        inventory.died(deleteVictims(sql, piece));
        // Of a call nobody can tell how long others were served meanwhile.
        this.#longest = Math.max(this.#longest, currentTime() - began);
      });
    }
    this.#rows = rowsOfNextStep(this.#rows, this.#longest);
    return { swept: victims.length, done: false };
  }

  async #forgetElsewhere(victims: readonly SweepCandidate[]): Promise<void> {
    const { env, treeId } = this.#tree;
    const accessors = victims.map(({ row, accessorTail }) => routedIdText(treeId, row, new Uint8Array(accessorTail)));
    // What was said about them before must not arrive afterwards.
    await tellNoMoreOf(accessors);
    const customIds = victims.flatMap(({ row, customIdKey }) =>
      customIdKey === null ? [] : [{ key: customIdKey, treeId, row }],
    );
    const calls = [
      ...[...Map.groupBy(accessors, accessorShardNumber)].map(([shard, of]) => {
        return async () => accessorShard(env, shard).remove(of);
      }),
      ...[...Map.groupBy(customIds, ({ key }) => customIdsShardNumber(key))].map(([shard, of]) => {
        return async () => customIdsShard(env, shard).release(of);
      }),
    ];
    const atOnce = isOneProcess(env) ? CALLS_AT_ONCE : calls.length;
    for (let at = 0; at < calls.length; at += atOnce) {
      await this.#piece(() => Promise.all(calls.slice(at, at + atOnce).map((call) => call())));
    }
  }

  /** Does a piece of the step, and then lets others have the thread. */
  async #piece<T>(work: () => T | Promise<T>): Promise<T> {
    const began = currentTime();
    const result = await work();
    const ended = currentTime();
    this.#held += ended - began;
    const pause = pauseAfter(this.#held, this.#busy);
    if (pause === 0) return result;
    await new Promise((resolve) => setTimeout(resolve, pause));
    this.#held = 0;
    this.#busy = wasBusy(pause, currentTime() - ended);
    return result;
  }
}
