import type { RevokedInTree, RevokeInTree } from "../listing/inventory/revoke-in-tree.ts";
import { REVOKED } from "../token/state.ts";
import type { Descendants } from "./descendants.ts";
import { type MeantDeps, MeantTokens } from "./meant-tokens.ts";

/** What a revocation needs of the tree around it. */
interface RevokeDeps extends MeantDeps {
  readonly descendants: Descendants;
}

/** Revokes the tokens. Synchronous: of what the tree is asked either all is done or nothing. */
export function revokeFiltered(
  tree: RevokeDeps,
  request: Omit<RevokeInTree, "sweptByCaller">,
  now: number,
): RevokedInTree {
  const done = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };
  const { tokens, lineage, descendants } = tree;
  if (!tokens.isCreated) return { ...done, gone: request.tokens.length };
  const meant = new MeantTokens(tree, request, now, new Map());
  const taken = new Set<number>();
  for (const token of request.tokens) {
    const verdict = meant.verdict(token);
    if (verdict === "taken") taken.add(token.row);
    else if (verdict === "root" || verdict === "self") done.spared++;
    else done[verdict]++;
  }
  const known = new Map<number, boolean>();
  for (const row of taken) {
    if (lineage.hasAbove(row, (above) => taken.has(above), known)) continue;
    done.total += 1 + descendants.count(row, now, Number.MAX_SAFE_INTEGER);
  }
  if (!request.dry) for (const row of taken) tokens.revoke(row, REVOKED, "revoked", request.asked);
  return { ...done, revoked: taken.size };
}
