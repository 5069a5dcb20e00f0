import { cleanUpTrees } from "../base/turns/clean-up.ts";
import type { IndexedLease } from "../listing/lease-index.ts";
import { treeOf } from "../token/find-tree.ts";
import { type AccessorCredential, decodeStoredId } from "../token/ids.ts";
import type { WalkAnswer } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import type { Walk } from "./walk-store.ts";

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

interface Marked {
  readonly report: TreeReport;
  readonly hasDead: boolean;
}

/**
 * Has the trees of some leases do what a walk is for, and sweep what died of it, few at a time. A tree that does not answer is reported as not reached: it must not keep
 * the walk from the others.
 *
 * @param walk with the watermark whose tokens are meant; without one all of the leases are.
 */
export async function notifyTrees(
  env: LeaseEnv,
  leases: readonly IndexedLease[],
  { mode, watermark, asked }: Pick<Walk, "asked" | "mode" | "watermark">,
): Promise<TreeReport[]> {
  const routed = leases.map((lease): RoutedLease => {
    const route = decodeStoredId(lease.id);
    if (!route) throw new Error("the index lists an id that names no tree");
    return { lease, route };
  });
  const byTree = Map.groupBy(routed, ({ route }) => route.treeId);
  const mark = async ([treeId, found]: [string, RoutedLease[]]): Promise<Marked> => {
    const of = (kind: string) =>
      found.filter(({ lease }) => lease.kind === kind).map(({ route: { row, tail } }) => ({ row, tail }));
    try {
      const known = { tokens: of("token"), secrets: of("secret") };
      const answer = await treeOf(env, treeId)?.walk(known, { mode, watermark: watermark?.number ?? null, asked });
      return answer
        ? { report: reportOf(found, answer), hasDead: answer.hasDead }
        : { report: { reached: true, unknown: found.map(({ lease }) => lease), failure: null }, hasDead: false };
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", tree: treeId, error: String(error) }));
      return { report: { reached: false, unknown: [], failure: null }, hasDead: false };
    }
  };
  const sweep = async ([treeId]: [string, RoutedLease[]], { hasDead }: Marked): Promise<void> => {
    if (hasDead) await treeOf(env, treeId)?.sweep();
  };
  // Revocations of secrets wait for their targets.
  const waitsElsewhere = leases.some(({ kind }) => kind === "secret");
  const marked = await cleanUpTrees([...byTree], { mark, sweep, waitsElsewhere });
  return marked.map(({ report }) => report);
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
