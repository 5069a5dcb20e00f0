import { equalBytes } from "../../crypto/bytes.ts";
import { ROOT_POLICY } from "../../policy/name.ts";
import type { RowAndTail } from "../leases/actions.ts";
import { REVOKED, type TreeStore } from "../tree-store.ts";
import type { TreeLineage } from "./lineage.ts";

/** Tokens of one tree that are to be revoked. */
export interface RevokeInTree {
  readonly tokens: readonly RowAndTail[];
  /** False: root tokens stay. */
  readonly includeRoot: boolean;
  /** A token of the tree that stays, and so must all above it; null: none. */
  readonly spare: number | null;
  /** True: the caller has the tree swept afterwards. False: its alarm does it at once. */
  readonly sweptByCaller: boolean;
}

/** What became of them. */
export interface RevokedInTree {
  /** Alive until now. */
  readonly revoked: number;
  /** Had ended before. */
  readonly gone: number;
  /** Root tokens, and the one to be spared with what it hangs on. */
  readonly spared: number;
}

/** Revokes the tokens. Synchronous: of what the tree is asked either all is done or nothing. */
export function revokeFiltered(
  tokens: TreeStore,
  lineage: TreeLineage,
  { tokens: wanted, includeRoot, spare }: Omit<RevokeInTree, "sweptByCaller">,
  now: number,
): RevokedInTree {
  const done = { revoked: 0, gone: 0, spared: 0 };
  if (!tokens.isCreated) return { ...done, gone: wanted.length };
  const spared = new Set(spare === null ? [] : lineage.rowsAbove(spare));
  for (const { row, tail } of wanted) {
    const token = tokens.live(row, now);
    if (!token || !equalBytes(token.fixed.accessorTail, tail)) done.gone++;
    else if (spared.has(row) || (!includeRoot && token.fixed.record.policies.includes(ROOT_POLICY))) done.spared++;
    else {
      tokens.revoke(row, REVOKED);
      done.revoked++;
    }
  }
  return done;
}
