import type { Ms } from "../base/clock.ts";
import { fixedPart, type ListedToken } from "../listing/inventory/entry.ts";
import { matches, matchesFixed, type TokenFilter } from "../listing/inventory/filter.ts";
import {
  type CountCursor,
  type CountedInTree,
  isRoot,
  type RevokedInTree,
  type RevokeInTree,
  type SelectedInTree,
} from "../listing/inventory/selection.ts";
import { type GroupedToken, NO_TALLY, type Tally, tallyGroups } from "../listing/inventory/tally.ts";
import { reportTampering } from "../storage/row-seals.ts";
import { REVOKED } from "../token/end-record.ts";
import type { RowAndTail } from "../token/ids.ts";
import { countDescendants, walkBelow } from "./descendants.ts";
import { hasAbove, rowsAbove } from "./lineage.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeParts } from "./tree-parts.ts";

/** Tokens that one step reads. */
const STEP = 500;
/** Leases that one step counts. */
const MAX_LEASES = 10_000;

/**
 * How a revocation treats a token. "taken": it is revoked. "gone": it is not alive. "mismatched": the filter does not
 * match its row. "root" and "self": it is spared.
 */
type Treatment = "taken" | "gone" | "mismatched" | "root" | "self";

/** Hour of the last use that the list has of ancestors, by accessor. */
type LastUses = ReadonlyMap<string, Ms | null>;

/**
 * Decides which tokens of a tree a revocation matches, by the sealed rows of the tree. The list that found them has no
 * seals: without this check an attacker who can write its storage could choose what is revoked. Only the hour of the
 * last use is taken from the list, because the tree does not store it.
 */
function selectionOf(tree: TreeParts, request: SelectedInTree, now: Ms, lastUses: LastUses) {
  const { treeId, tokens, inventory } = tree;
  const { filter } = request;
  const spared = new Set(request.spare === null ? [] : rowsAbove(tree, request.spare));
  const named = new Set(filter === null ? request.tokens.map(({ row }) => row) : []);
  const taken = new Map<number, boolean>();

  /** The fields of a token that filters test. `children` is not counted. */
  const listedOf = (token: TokenRow): ListedToken => {
    const entry = inventory.newEntryOf(token, tokens.liveness.parentOf(token, now));
    return { ...entry, lastUsed: inventory.lastUsed(token.row), id: token.row };
  };

  const unlessKept = ({ row, fixed }: TokenRow): Treatment => {
    if (!request.includeRoot && isRoot(fixed.record)) return "root";
    return spared.has(row) ? "self" : "taken";
  };

  const isListedRightly = (token: TokenRow, { unusedSince, ...rest }: TokenFilter): boolean => {
    const listed = listedOf(token);
    if (!matchesFixed(rest, listed, treeId)) {
      reportTampering({ kind: "inventory entry", object: treeId, row: token.row });
      return false;
    }
    return matches(listed.lastUsed === null ? rest : { ...rest, unusedSince }, listed, treeId, now);
  };

  const isSelected = (token: TokenRow): boolean => {
    if (filter === null) return named.has(token.row);
    const listed = listedOf(token);
    const lastUsed = listed.lastUsed ?? lastUses.get(listed.accessor) ?? null;
    return matches(filter, { ...listed, lastUsed }, treeId, now);
  };

  return {
    treatmentOf(token: RowAndTail): Treatment {
      const found = tokens.liveNamed(token, now);
      if (!found) return "gone";
      return filter && !isListedRightly(found, filter) ? "mismatched" : unlessKept(found);
    },

    /** True when the revocation matches the token itself, whether or not the request contains it. */
    takes(row: number): boolean {
      const known = taken.get(row);
      if (known !== undefined) return known;
      const token = tokens.live(row, now);
      const takes = token !== null && isSelected(token) && unlessKept(token) === "taken";
      taken.set(row, takes);
      return takes;
    },
  };
}

/** Revokes the matching tokens of a request. Synchronous, so that all of them are revoked in one transaction. */
export function revokeFiltered(tree: TreeParts, request: Omit<RevokeInTree, "sweptByCaller">, now: Ms): RevokedInTree {
  const done = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };
  const selected = selectionOf(tree, request, now, new Map());
  const taken = new Set<number>();
  for (const token of request.tokens) {
    const treatment = selected.treatmentOf(token);
    if (treatment === "taken") taken.add(token.row);
    else if (treatment === "root" || treatment === "self") done.spared++;
    else done[treatment]++;
  }
  const known = new Map<number, boolean>();
  for (const row of taken) {
    if (hasAbove(tree, row, (above) => taken.has(above), known)) continue;
    done.total += 1 + countDescendants(tree.sql, row, now, Number.MAX_SAFE_INTEGER);
  }
  if (!request.dry) for (const row of taken) tree.tokens.revoke(row, REVOKED, "revoked", request.asked);
  return { ...done, revoked: taken.size };
}

/**
 * Counts what a revocation would end, in bounded steps (`from`: cursor of the previous one). It counts the topmost
 * matching tokens, each with its live descendants. So every token is counted once, even if several calls name tokens of
 * the same tree.
 */
export function countSelected(
  tree: TreeParts,
  request: SelectedInTree,
  from: CountCursor | null,
  lastUses: LastUses,
  now: Ms,
): CountedInTree {
  if (!tree.tokens.isCreated) return { tally: NO_TALLY, anew: true, next: null };
  const { tokens } = request;
  const selected = selectionOf(tree, request, now, lastUses);
  const step = boundedTally(tree, now);
  const known = new Map<number, boolean>();
  const begun = from?.row == null ? null : walkBelow(tree.sql, tokens[from.at]?.row ?? 0, now, from.row);
  // If the row of the cursor was swept meanwhile, the count starts again.
  const anew = from === null || (from.row !== null && begun === null);
  let at = anew ? 0 : from.at;
  if (begun) {
    const row = step.count(begun);
    if (row !== null) return { tally: step.tally(), anew, next: { at, row } };
    at++;
  }
  for (; at < tokens.length; at++) {
    const token = tokens[at];
    if (step.isFull()) return { tally: step.tally(), anew, next: { at, row: null } };
    if (!token || !step.note(selected.treatmentOf(token))) continue;
    if (hasAbove(tree, token.row, selected.takes, known)) continue;
    const row = step.count(walkBelow(tree.sql, token.row, now, null) ?? [], token.row);
    if (row !== null) return { tally: step.tally(), anew, next: { at, row } };
  }
  return { tally: step.tally(), anew, next: null };
}

function boundedTally(tree: TreeParts, now: Ms) {
  const rows: number[] = [];
  const counted: GroupedToken[] = [];
  const seen: Record<Treatment, number> = { taken: 0, gone: 0, mismatched: 0, root: 0, self: 0 };
  let looked = 0;
  const isFull = () => looked >= STEP;

  const add = (row: number): void => {
    looked++;
    const token = tree.tokens.live(row, now);
    if (!token) return;
    rows.push(row);
    counted.push(fixedPart(token.fixed.record));
  };

  return {
    isFull,

    /** Counts how a token is treated. Returns true when it would be revoked. */
    note(treatment: Treatment): boolean {
      looked++;
      seen[treatment]++;
      return treatment === "taken";
    },

    /** Counts `top` and the rows of `below`. Returns the last row when the step is full before the end, else null. */
    count(below: Iterable<number>, top?: number): number | null {
      if (top !== undefined) add(top);
      for (const row of below) {
        add(row);
        if (isFull()) return row;
      }
      return null;
    },

    tally(): Tally {
      return {
        matched: seen.taken,
        root: seen.root,
        self: seen.self,
        total: counted.length,
        leases: tree.leases.store.countOfTokens(rows, MAX_LEASES),
        by: tallyGroups(counted),
      };
    },
  };
}
