import { inGroups } from "../../base/parallel.ts";
import type { Env } from "../../env.ts";
import { treeOf } from "../find-tree.ts";

/** How long after an answer the inventory may not know of it yet (ms). */
export const FRESHNESS_MS = 2000;
/** Trees that one listing asks to tell what they have. */
const MAX_ASKED = 64;

/** Trees in which this isolate changed something, by id, and when (ms); the oldest first. */
const recent = new Map<string, number>();

/** Notes that a token was made or renewed in a tree by a request of this isolate. `now` in ms. */
export function noteChange(treeId: string, now: number): void {
  recent.delete(treeId);
  recent.set(treeId, now);
  for (const [tree, at] of recent) {
    if (at >= now - FRESHNESS_MS && recent.size <= MAX_ASKED) return;
    recent.delete(tree);
  }
}

/** Makes trees in which this isolate just changed something tell the inventory, so that a client finds what it made. */
export async function tellRecent(env: Env, now: number): Promise<void> {
  const trees = [...recent].filter(([, at]) => at >= now - FRESHNESS_MS).map(([treeId]) => treeId);
  for (const treeId of trees) recent.delete(treeId);
  await inGroups(trees, async (treeId) => treeOf(env, treeId)?.tellInventory());
}
