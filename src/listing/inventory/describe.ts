import { inGroups } from "../../base/parallel.ts";
import { treeAt } from "../../token/find-tree.ts";
import { decodeStoredId } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry } from "./entry.ts";

/**
 * Asks the trees of these accessors what the inventory keeps of them. Of a token that is not alive nothing comes, and nothing
 * from a tree that fails: the next tidy run asks it again.
 */
export async function describeListed(env: ListingEnv, accessors: readonly string[]): Promise<InventoryEntry[]> {
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
