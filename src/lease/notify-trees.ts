import { cleanUpTrees } from "../base/turns.ts";
import type { IndexedLease } from "../listing/lease-index.ts";
import { treeOf } from "../token/find-tree.ts";
import { type AccessorCredential, decodeStoredId } from "../token/ids.ts";
import type { WalkAnswer } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import type { Walk } from "./walk-job.ts";

type RoutedLease = { readonly lease: IndexedLease; readonly route: AccessorCredential };

/** Result of the call of a walk to one tree. */
interface TreeReport {
  /** False when it did not answer. */
  readonly reached: boolean;
  /** True when the tree has something to sweep now. */
  readonly hasDead: boolean;
  /** Leases that the index lists and the tree does not have. */
  readonly unknown: readonly IndexedLease[];
  readonly failure: { readonly lease: IndexedLease; readonly error: string } | null;
}

/**
 * Calls the trees of these leases for a walk, and has each sweep the tokens that this ended, few trees at a time. With
 * a watermark, only tokens that a watermark has ended are revoked; without one, all tokens are. Leases of secrets are
 * revoked in both cases. For `tidy` nothing is revoked. A tree that does not answer is reported as not reached: it must
 * not stop the walk for the others.
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
  const mark = async ([treeId, found]: [string, RoutedLease[]]): Promise<TreeReport> => {
    const of = (kind: string) =>
      found.filter(({ lease }) => lease.kind === kind).map(({ route: { row, tail } }) => ({ row, tail }));
    try {
      const known = { tokens: of("token"), secrets: of("secret") };
      const answer = await treeOf(env, treeId)?.walk(known, { mode, watermark: watermark?.number ?? null, asked });
      if (answer) return reportOf(found, answer);
      return { reached: true, hasDead: false, unknown: found.map(({ lease }) => lease), failure: null };
    } catch (error) {
      console.error(JSON.stringify({ type: "lease walk", tree: treeId, error: String(error) }));
      return { reached: false, hasDead: false, unknown: [], failure: null };
    }
  };
  const sweep = async ([treeId]: [string, RoutedLease[]], { hasDead }: TreeReport): Promise<void> => {
    if (hasDead) await treeOf(env, treeId)?.sweep();
  };
  // Revocations of secrets wait for their targets, which are other services.
  const waitsElsewhere = leases.some(({ kind }) => kind === "secret");
  return cleanUpTrees([...byTree], { mark, sweep, waitsElsewhere });
}

function reportOf(found: readonly RoutedLease[], answer: WalkAnswer): TreeReport {
  const unknown = found.filter(({ lease, route }) =>
    (lease.kind === "token" ? answer.unknownTokens : answer.unknownSecrets).includes(route.row),
  );
  const [failure] = answer.failures;
  const failed = found.find(({ lease, route }) => lease.kind === "secret" && route.row === failure?.row);
  return {
    reached: true,
    hasDead: answer.hasDead,
    unknown: unknown.map(({ lease }) => lease),
    failure: failed && failure ? { lease: failed.lease, error: failure.error } : null,
  };
}
