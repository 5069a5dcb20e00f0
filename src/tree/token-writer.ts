import { DENIED, type Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { NewTokenIds } from "../token/ids.ts";
import { indexPath, type TokenSpec, type TokenView } from "../token/record.ts";
import type { CubbyholeStore, CubbyholeValue } from "./cubbyhole/store.ts";
import { accessorShard, accessorShardNumber } from "./index/accessor-shard.ts";
import type { TreeInventory } from "./inventory/tree-inventory.ts";
import type { TreeStore } from "./tree-store.ts";

/** What the list of accessors said to a new token; it refuses those of a mount that is being disabled. */
type Listing = "listed" | "refused" | "failed";

const NOT_STORED: Failure = {
  code: "unavailable",
  message: "the token could not be stored; try again",
  retryAfterSeconds: 1,
};

/** What new tokens need of the tree around them. */
interface TokenWriterDeps {
  readonly env: Env;
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly cubbyhole: CubbyholeStore;
  readonly inventory: TreeInventory;
  /** Sets the alarm for the earliest end in the tree. */
  readonly arm: () => void;
}

/** Writes new tokens of a tree, each with its entry in the list of accessors. */
export class TokenWriter {
  readonly #tree: TokenWriterDeps;

  constructor(tree: TokenWriterDeps) {
    this.#tree = tree;
  }

  /**
   * Writes a token, and what it keeps from the beginning. Answers when the token and its entry in the list are durable.
   *
   * @param parent its row; null for the first token of a tree. The row of the new token must be free.
   */
  async write(
    spec: TokenSpec,
    ids: NewTokenIds,
    parent: number | null,
    values: readonly CubbyholeValue[] = [],
  ): Promise<Result<TokenView, Failure>> {
    const { tokens, cubbyhole, inventory, arm } = this.#tree;
    // Before the own write, so that the two commit side by side.
    const listing = this.#list(spec, ids);
    tokens.insert(spec, ids, parent);
    for (const { path, sealed } of values) cubbyhole.write(ids.row, path, sealed);
    arm();
    const listed = await listing;
    if (listed === "listed") {
      inventory.born(ids.row, parent);
      return ok(this.#view(spec, ids, parent === null));
    }
    // Taken back: it was never handed out.
    cubbyhole.deleteOf([ids.row]);
    tokens.removeUnseen(ids.row);
    return err(listed === "refused" ? DENIED : NOT_STORED);
  }

  #list({ record }: TokenSpec, ids: NewTokenIds): Promise<Listing> {
    return accessorShard(this.#tree.env, accessorShardNumber(ids.accessor))
      .add(ids.accessor, indexPath(record), record.login?.mount ?? null)
      .then(
        (added) => (added ? "listed" : "refused"),
        () => "failed",
      );
  }

  #view({ record, expiresAt }: TokenSpec, ids: NewTokenIds, orphan: boolean): TokenView {
    return {
      ...record,
      treeId: this.#tree.treeId,
      row: ids.row,
      accessor: ids.accessor,
      orphan,
      usesLeft: record.numUses,
      grantedTtl: record.creationTtl,
      expiresAt,
      renewedAt: null,
    };
  }
}
