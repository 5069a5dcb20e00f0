import { earliest, type Ms } from "../../base/clock.ts";
import type { Sql } from "../../storage/tables.ts";
import { treeAt } from "../../token/tree-stub.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry } from "../inventory/entry.ts";
import { SingleTokenWalk } from "./single-token-walk.ts";
import { TreeLedger } from "./tree-ledger.ts";

/**
 * The half of a shard in the life cycle of trees (`src/tree/lifecycle.ts`). The ledger allocates ids and asks the trees
 * whose first token is not listed; the walk ends the expired tokens of trees that have no alarm.
 */
export class ShardTrees {
  readonly ledger: TreeLedger;
  readonly walk: SingleTokenWalk;

  /** @param sql contains the tables of the shard. @param storage in which the first free tree makes a table. */
  constructor(sql: Sql, storage: SqlStorage, env: ListingEnv, shardNumber: () => number) {
    this.ledger = new TreeLedger(sql, storage, env, shardNumber);
    this.walk = new SingleTokenWalk(sql, ({ treeId, row }) => treeAt(env, treeId).endSingleToken(row));
  }

  /** Asks trees that are due. For `corrected` and the answer see `SingleTokenWalk.turn`. */
  async turn(now: Ms, corrected: (entry: InventoryEntry) => void): ReturnType<SingleTokenWalk["turn"]> {
    await this.ledger.askDue();
    return this.walk.turn(now, corrected);
  }

  /** When the next turn is due; null: never. */
  nextAt(now: Ms): Ms | null {
    return earliest(this.ledger.nextDueAt, this.walk.nextAt(now));
  }
}
