import { inGroups } from "../../base/parallel.ts";
import { treeAt } from "../../token/find-tree.ts";
import { decodeStoredId } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry } from "./entry.ts";

/**
 * Reads the entries of these accessors from their trees. There is none for a token that is not alive, or when its tree
 * fails: the next tidy run calls the tree again.
 */
export async function entriesFromTrees(env: ListingEnv, accessors: readonly string[]): Promise<InventoryEntry[]> {
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
