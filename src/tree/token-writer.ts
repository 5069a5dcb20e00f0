import type { NewTokenIds } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import type { CubbyholeStore, CubbyholeValue } from "./cubbyhole/store.ts";
import type { TreeStore } from "./tree-store.ts";
import type { TreeUpdates } from "./updates/tree-updates.ts";

/** What new tokens need of the tree around them. */
interface TokenWriterDeps {
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly cubbyhole: CubbyholeStore;
  readonly inventory: TreeUpdates;
  /** Sets the alarm for what is due first in the tree. */
  readonly arm: () => void;
}

/** Writes new tokens of a tree. The list of accessors is notified later. */
export class TokenWriter {
  readonly #tree: TokenWriterDeps;

  constructor(tree: TokenWriterDeps) {
    this.#tree = tree;
  }

  /**
   * Writes the first token, and what it keeps from the beginning.
   *
   * @param allocatedBy see `TreeUpdates.started`.
   * @returns null, with nothing written, when its row is not free.
   */
  first(
    spec: TokenSpec,
    ids: NewTokenIds,
    values: readonly CubbyholeValue[],
    allocatedBy: number | null,
  ): TokenView | null {
    const { tokens, cubbyhole, inventory, arm } = this.#tree;
    if (!tokens.insert(spec, ids, null)) return null;
    for (const { path, sealed } of values) cubbyhole.write(ids.row, path, sealed);
    inventory.started(spec, ids, allocatedBy);
    arm();
    return this.#view(spec, ids, true);
  }

  /** Writes a token below `parent`. null when its row is not free. */
  child(spec: TokenSpec, ids: NewTokenIds, parent: number): TokenView | null {
    const { tokens, inventory, arm } = this.#tree;
    if (!tokens.insert(spec, ids, parent)) return null;
    inventory.born(ids.row, parent);
    arm();
    return this.#view(spec, ids, false);
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
