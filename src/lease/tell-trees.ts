import type { Env } from "../env.ts";
import { type AccessorCredential, decodeStoredId } from "../token/ids.ts";
import { cleanUpTrees } from "../tree/clean-up.ts";
import { treeOf } from "../tree/find-tree.ts";
import type { IndexedLease } from "../tree/index/index-store.ts";
import type { WalkAnswer, WalkMode } from "../tree/leases/actions.ts";

interface RoutedLease {
  readonly lease: IndexedLease;
  readonly route: AccessorCredential;
}

/** What one tree said about its leases. */
export interface TreeReport {
  /** False when it did not answer. */
  readonly reached: boolean;
  /** Leases that the index lists and the tree does not have. */
  readonly unknown: readonly IndexedLease[];
  readonly failure: { readonly lease: IndexedLease; readonly error: string } | null;
}

/**
 * Has the trees of some leases do what a walk is for, and sweep what died of it, few at a time. A tree that does not answer is reported as not reached: it must not keep
 * the walk from the others.
 *
 * @param watermark number of the watermark whose tokens are meant; null: all of the leases are.
 */
export async function tellTrees(
  env: Env,
  leases: readonly IndexedLease[],
  mode: WalkMode,
  watermark: number | null,
): Promise<TreeReport[]> {
  const byTree = new Map<string, RoutedLease[]>();
  for (const lease of leases) {
    const route = decodeStoredId(lease.id);
    if (!route) throw new Error("the index lists an id that names no tree");
    byTree.set(route.treeId, [...(byTree.get(route.treeId) ?? []), { lease, route }]);
  }
  return cleanUpTrees(env, [...byTree], async ([treeId, found], inTurn) => {
    const of = (kind: string) =>
      found.filter(({ lease }) => lease.kind === kind).map(({ route: { row, tail } }) => ({ row, tail }));
    try {
      const known = { tokens: of("token"), secrets: of("secret") };
      const tree = treeOf(env, treeId);
      if (!tree) return { reached: true, unknown: found.map(({ lease }) => lease), failure: null };
      const walk = () => tree.walk(known, mode, watermark);
      // What the leases of secrets wait for is elsewhere.
      const answer = await (known.secrets.length > 0 ? walk() : inTurn(walk));
      if (answer.hasDead) await tree.sweep();
      return reportOf(found, answer);
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", tree: treeId, error: String(error) }));
      return { reached: false, unknown: [], failure: null };
    }
  });
}

function reportOf(found: readonly RoutedLease[], answer: WalkAnswer): TreeReport {
  const unknown = found.filter(({ lease, route }) =>
    (lease.kind === "token" ? answer.unknownTokens : answer.unknownSecrets).includes(route.row),
  );
  const failure = answer.failures[0];
  const failed = failure && found.find(({ lease, route }) => lease.kind === "secret" && route.row === failure.row);
  return {
    reached: true,
    unknown: unknown.map(({ lease }) => lease),
    failure: failed && failure ? { lease: failed.lease, error: failure.error } : null,
  };
}
