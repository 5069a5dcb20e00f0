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

/** What the list of tokens needs of the shard around it. */
interface ListedTokensDeps {
  readonly env: ListingEnv;
  readonly inventory: InventoryStore;
  /** Id of the object. */
  readonly object: string;
  /** True for an accessor whose place is this shard. */
  readonly isOwn: (accessor: string) => boolean;
  /** Notified of tokens that are listed now, or end at another time. */
  readonly changed: (entries: readonly InventoryEntry[]) => void;
}

/** A token that tidy found missing on the list, as its tree sends it; with its path alone by 1.0.0-rc.1. */
export type RelistedToken = InventoryEntry | Pick<InventoryEntry, "accessor" | "path">;

/** Which tokens a shard lists: those of its inventory. */
export class ListedTokens {
  readonly #shard: ListedTokensDeps;

  constructor(shard: ListedTokensDeps) {
    this.#shard = shard;
  }

  /** Keeps what trees publish. One of `changed` that is not on the list, or not any more, is left out. */
  put(made: readonly InventoryEntry[], changed: readonly InventoryEntry[], sizes: readonly TreeSize[] = []): void {
    this.#shard.inventory.put({ made, changed, sizes });
    this.#shard.changed([...made, ...changed]);
  }

  /**
   * Lists those of `tokens` that are not listed. Returns how many that were. A tree that still runs the code of the release before sends
   * less than an entry: its tokens are left to a later run of tidy.
   */
  relist(tokens: readonly RelistedToken[]): number {
    const missing = tokens.flatMap((token) =>
      "policies" in token && !this.#shard.inventory.has(token.accessor) ? [token] : [],
    );
    this.put(missing, []);
    return missing.length;
  }

  /**
   * Drops tokens from the list and, if `keeps`, keeps how they ended: of one that is named by its accessor alone, the way in which it
   * ended is not known. Safe to repeat.
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

  /** What is listed after `after`, at most `limit` tokens in order, for tidy to compare with their trees. */
  claims(after: string, limit: number): ListedClaim[] {
    const { inventory, isOwn } = this.#shard;
    return inventory
      .claims(after, limit)
      .map((claim) => (isOwn(claim.accessor) ? claim : { ...claim, entry: "wrong" }));
  }

  /**
   * Corrects entries that differ from their trees, which are asked: a tree that crashes right after an answer publishes
   * nothing of it. Safe to repeat.
   *
   * @param wrong those of which the inventory has what no tree has published: that is reported as tampering.
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
 * Asks the trees of these accessors what the inventory keeps of them. Of a token that is not alive nothing comes, and nothing
 * from a tree that fails: the next tidy run asks it again.
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
  // A row is named by its whole accessor: another row of that number is another token.
  const wanted = new Set(accessors);
  return described.flat().filter(({ accessor }) => wanted.has(accessor));
}
