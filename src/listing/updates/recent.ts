import { isolates } from "../../base/isolates.ts";
import { inGroups } from "../../base/parallel.ts";
import { treeAt } from "../../token/find-tree.ts";
import type { ListingEnv } from "../env.ts";
import { FRESHNESS_MS } from "./delays.ts";
import { publishPending } from "./publish.ts";

/** Maximum number of trees that one listing calls to publish their updates, where they can be in other isolates. */
const MAX_ASKED = 64;

/** Trees that requests of this isolate changed recently, by id, with the time of the change (ms); the oldest first. */
const recent = new Map<string, number>();
/** Trees of this isolate with updates to publish. */
const waiting = new Set<string>();

/** Notes that a request of this isolate created or renewed a token in a tree. `now` in ms. */
export function noteChange(treeId: string, now: number): void {
  recent.delete(treeId);
  recent.set(treeId, now);
  for (const [tree, at] of recent) {
    if (at >= now - FRESHNESS_MS && recent.size <= MAX_ASKED) return;
    recent.delete(tree);
  }
}

/** Notes that a tree of this isolate has updates that a client may look for, or (`false`) has none any more. */
export function noteWaiting(treeId: string, waits: boolean): void {
  if (waits) waiting.add(treeId);
  else waiting.delete(treeId);
}

/**
 * Has the trees that this isolate changed recently publish their updates, so that a client finds what it created. Where
 * one process serves everything, all trees with updates publish them. `now` in ms.
 */
export async function publishRecent(env: ListingEnv, now: number): Promise<void> {
  const changed = [...recent].filter(([, at]) => at >= now - FRESHNESS_MS).map(([treeId]) => treeId);
  recent.clear();
  await inGroups([...waiting], (treeId) => treeAt(env, treeId).enqueueUpdates());
  // Where one process serves everything their updates are in the queue by now.
  const elsewhere = !isolates().areMany ? [] : changed.filter((treeId) => !waiting.has(treeId));
  await inGroups(elsewhere, (treeId) => treeAt(env, treeId).publishUpdates());
  await publishPending(env);
}
