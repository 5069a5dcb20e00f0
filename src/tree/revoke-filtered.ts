import { equalBytes } from "../crypto/bytes.ts";
import { isEverMeant, matches, type TokenFilter } from "../listing/inventory/filter.ts";
import type { RevokedInTree, RevokeInTree } from "../listing/inventory/revoke-in-tree.ts";
import { ROOT_POLICY } from "../policy/name.ts";
import { reportTampering } from "../storage/tampering.ts";
import { REVOKED } from "../token/state.ts";
import type { TreeLineage } from "./lineage.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeStore } from "./tree-store.ts";
import type { TreeUpdates } from "./updates/tree-updates.ts";

/** What a revocation needs of the tree around it. */
interface RevokeDeps {
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly lineage: TreeLineage;
  readonly inventory: TreeUpdates;
}

/**
 * Revokes the tokens. Synchronous: of what the tree is asked either all is done or nothing.
 *
 * The list that the tokens were found in has no seals: who writes the storage could otherwise choose what is revoked. Only
 * the hour of the last use is the list's alone.
 */
export function revokeFiltered(
  { treeId, tokens, lineage, inventory }: RevokeDeps,
  { tokens: wanted, filter, includeRoot, spare }: Omit<RevokeInTree, "sweptByCaller">,
  now: number,
): RevokedInTree {
  const done = { revoked: 0, gone: 0, spared: 0, mismatched: 0 };
  if (!tokens.isCreated) return { ...done, gone: wanted.length };
  const entries = new Map(
    (filter ? inventory.describe(wanted.map(({ row }) => row)) : []).map((entry) => [entry.accessor, entry]),
  );
  const isMeant = ({ row, fixed }: TokenRow, { unusedSince, ...rest }: TokenFilter): boolean => {
    const entry = entries.get(fixed.accessor);
    if (!entry) return false;
    const token = { ...entry, id: row };
    if (!isEverMeant(rest, token, treeId)) {
      reportTampering({ kind: "inventory entry", object: treeId, row });
      return false;
    }
    return matches(token.lastUsed === null ? rest : { ...rest, unusedSince }, token, treeId, now);
  };
  const spared = new Set(spare === null ? [] : lineage.rowsAbove(spare));
  for (const { row, tail } of wanted) {
    const token = tokens.live(row, now);
    if (!token || !equalBytes(token.fixed.accessorTail, tail)) done.gone++;
    else if (filter && !isMeant(token, filter)) done.mismatched++;
    else if (spared.has(row) || (!includeRoot && token.fixed.record.policies.includes(ROOT_POLICY))) done.spared++;
    else {
      tokens.revoke(row, REVOKED);
      done.revoked++;
    }
  }
  return done;
}
