import { currentTime } from "../base/clock.ts";
import type { Env } from "../env.ts";
import { countEvent } from "../metrics/events.ts";
import { routedIdText } from "../token/ids.ts";
import type { CubbyholeStore } from "./cubbyhole/store.ts";
import { customIdsShard, customIdsShardNumber } from "./custom-ids.ts";
import { accessorShard, accessorShardNumber } from "./index/accessor-shard.ts";
import type { TreeInventory } from "./inventory/tree-inventory.ts";
import { deleteVictims, nextVictims, type SweepCandidate } from "./sweep.ts";

/**
 * Rows that one step works on. The step's calls to the 16 shards, not its rows, are what a busy server spends its time with, so
 * that smaller steps only make the sweep longer; this one takes the thread for some ms, and no request waits for more.
 */
const SWEEP_ROWS = 750;
/**
 * Pause between two steps. Without one the runtime prefers the sweep to requests that came meanwhile: they would wait until
 * all is swept.
 */
const SWEEP_PAUSE_MS = 5;
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
        await new Promise((resolve) => setTimeout(resolve, SWEEP_PAUSE_MS));
      }
    } finally {
      countEvent("sweep", [], -1);
    }
  }

  /** One step. Safe to repeat after a crash anywhere in it. */
  async step(): Promise<SweepStep> {
    const { sql, cubbyhole, inventory, endLeasesOf } = this.#tree;
    const victims = nextVictims(sql, currentTime(), SWEEP_ROWS, inventory);
    if (victims === null) return { swept: 0, done: true };
    if (victims.length === 0) return { swept: 0, done: false };
    const rows = victims.map(({ row }) => row);
    // A token that holds more leases than one step takes goes with a later one.
    if (!endLeasesOf(rows)) return { swept: 0, done: false };
    // Traces elsewhere go first: after a crash in between the rows are still here and the step is repeated.
    // What was said about them before must not arrive afterwards.
    await inventory.settled();
    await this.#forgetElsewhere(victims);
    cubbyhole.deleteOf(rows);
    deleteVictims(sql, victims);
    inventory.died(victims);
    return { swept: victims.length, done: false };
  }

  async #forgetElsewhere(victims: readonly SweepCandidate[]): Promise<void> {
    const { env, treeId } = this.#tree;
    const accessors = victims.map(({ row, accessorTail }) => routedIdText(treeId, row, new Uint8Array(accessorTail)));
    const customIds = victims.flatMap(({ row, customIdKey }) =>
      customIdKey === null ? [] : [{ key: customIdKey, treeId, row }],
    );
    await Promise.all([
      ...[...Map.groupBy(accessors, accessorShardNumber)].map(([shard, of]) => accessorShard(env, shard).remove(of)),
      ...[...Map.groupBy(customIds, ({ key }) => customIdsShardNumber(key))].map(([shard, of]) =>
        customIdsShard(env, shard).release(of),
      ),
    ]);
  }
}
