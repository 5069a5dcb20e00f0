import { inGroups } from "../base/parallel.ts";
import { reportTampering } from "../storage/row-seals.ts";
import { UNASKED } from "../system/end-request.ts";
import { treeAt } from "../token/find-tree.ts";
import { decodeStoredId } from "../token/ids.ts";
import type { ListingEnv } from "./env.ts";
import type { InventoryEntry, ListedClaim } from "./inventory/entry.ts";
import type { Ending } from "./inventory/shard/ended.ts";
import type { InventoryStore } from "./inventory/shard/inventory-store.ts";
import type { TreeSize } from "./inventory/shard/tree-size.ts";

interface ListedTokensDeps {
  readonly env: ListingEnv;
  readonly inventory: InventoryStore;
  readonly object: string;
  /** True for an accessor that belongs to this shard. */
  readonly isOwn: (accessor: string) => boolean;
  /** Called with the tokens that were added or changed. */
  readonly changed: (entries: readonly InventoryEntry[]) => void;
}

/** A token that its tree has missed on the list. A tree that runs 1.0.0-rc.1 sends no whole entry. */
export type RelistedToken = InventoryEntry | Pick<InventoryEntry, "accessor" | "path">;

export class ListedTokens {
  readonly #shard: ListedTokensDeps;

  constructor(shard: ListedTokensDeps) {
    this.#shard = shard;
  }

  /** Stores the updates of trees. Tokens of `changed` that are not listed are ignored. */
  put(made: readonly InventoryEntry[], changed: readonly InventoryEntry[], sizes: readonly TreeSize[] = []): void {
    this.#shard.inventory.put({ made, changed, sizes });
    this.#shard.changed([...made, ...changed]);
  }

  /** Lists missing tokens and returns their number. Those without a whole entry are left to a later run of tidy. */
  relist(tokens: readonly RelistedToken[]): number {
    const missing = tokens.flatMap((token) =>
      "policies" in token && !this.#shard.inventory.has(token.accessor) ? [token] : [],
    );
    this.put(missing, []);
    return missing.length;
  }

  /**
   * Removes tokens from the list and, if `keeps`, stores how they ended. How a token ended that is named by its
   * accessor alone is not known: it is stored as found by tidy at `now` (ms), if it was listed. Safe to repeat.
   */
  remove(tokens: readonly (string | Ending)[], keeps: boolean, now: number): void {
    const accessors = tokens.map((token) => (typeof token === "string" ? token : token.accessor));
    this.#shard.inventory.remove(accessors, (gone) => {
      if (!keeps) return [];
      const had = new Set(gone.map(({ accessor }) => accessor));
      return tokens.flatMap((token): Ending[] => {
        if (typeof token !== "string") return [token];
        return had.has(token) ? [{ accessor: token, end: { ...UNASKED, at: now, how: "tidy", cause: token } }] : [];
      });
    });
  }

  /** Returns at most `limit` listed tokens after `after`, in order, for tidy to compare with their trees. */
  claims(after: string, limit: number): ListedClaim[] {
    const { inventory, isOwn } = this.#shard;
    return inventory
      .claims(after, limit)
      .map((claim) => (isOwn(claim.accessor) ? claim : { ...claim, entry: "wrong" }));
  }

  /**
   * Corrects entries that differ from their trees, by reading them from the trees. Safe to repeat.
   *
   * @param stale accessors of outdated entries: a tree that crashes right after an answer does not publish the change.
   * @param wrong accessors of entries that no tree can have published: they are reported as tampering.
   */
  async describeAnew(stale: readonly string[], wrong: readonly string[]): Promise<void> {
    const { env, inventory, object, isOwn } = this.#shard;
    for (const accessor of wrong) reportTampering({ kind: "inventory entry", object, row: accessor });
    const described = await describeListed(env, [...new Set([...stale, ...wrong])]);
    const isWrong = new Set(wrong);
    this.put(
      [],
      described.filter(({ accessor }) => !isWrong.has(accessor)),
    );
    inventory.replace(described.filter(({ accessor }) => isWrong.has(accessor) && isOwn(accessor)));
    inventory.discard(wrong.filter((accessor) => !isOwn(accessor)));
  }
}

/**
 * Reads the entries of these accessors from their trees. There is none for a token that is not alive, or when its tree
 * fails: the next tidy run calls the tree again.
 */
async function describeListed(env: ListingEnv, accessors: readonly string[]): Promise<InventoryEntry[]> {
  const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
  const byTree = Map.groupBy(places, ({ treeId }) => treeId);
  const described = await inGroups([...byTree], async ([treeId, inTree]) => {
    try {
      return await treeAt(env, treeId).describe(inTree.map(({ row }) => row));
    } catch (error) {
      console.error(JSON.stringify({ type: "inventory", tree: treeId, error: String(error) }));
      return [];
    }
  });
  // Trees are asked by row number. A row whose whole accessor differs is another token.
  const wanted = new Set(accessors);
  return described.flat().filter(({ accessor }) => wanted.has(accessor));
}
