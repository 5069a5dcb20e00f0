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
import { type GroupedToken, groupsOf, NO_TALLY, type Tally } from "../listing/inventory/tally.ts";
import { reportTampering } from "../storage/row-seals.ts";
import type { RowAndTail } from "../token/ids.ts";
import { REVOKED } from "../token/state.ts";
import type { TreeLineage } from "./lineage.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { TokenRow } from "./token-rows.ts";

/** Tokens that one step reads. */
const STEP = 500;
/** Leases that one step counts. */
const MAX_LEASES = 10_000;

/** The parts of the tree that `SelectedTokens` uses. */
interface SelectionParts extends SharedParts {
  readonly lineage: TreeLineage;
}

/** How a revocation treats a token. "taken" revokes it; "root" and "self" spare it; "mismatched": not in the filter. */
type Verdict = "taken" | "gone" | "mismatched" | "root" | "self";

/**
 * Decides which tokens of a tree a revocation matches, by the sealed rows of the tree. The list that found them has no
 * seals: without this check an attacker who can write its storage could choose what is revoked. Only the hour of the
 * last use is taken from the list, because the tree does not store it.
 */
class SelectedTokens {
  readonly #tree: SelectionParts;
  readonly #request: SelectedInTree;
  readonly #now: number;
  readonly #spared: ReadonlySet<number>;
  readonly #named: ReadonlySet<number>;
  readonly #lastUses: ReadonlyMap<string, number | null>;
  readonly #taken = new Map<number, boolean>();

  /**
   * @param now ms.
   * @param lastUses hour of the last use (ms) that the list has of ancestors, by accessor.
   */
  constructor(
    tree: SelectionParts,
    request: SelectedInTree,
    now: number,
    lastUses: ReadonlyMap<string, number | null>,
  ) {
    this.#tree = tree;
    this.#request = request;
    this.#now = now;
    this.#lastUses = lastUses;
    this.#spared = new Set(request.spare === null ? [] : tree.lineage.rowsAbove(request.spare));
    this.#named = new Set(request.filter === null ? request.tokens.map(({ row }) => row) : []);
  }

  /** How the revocation treats a token of its request. */
  verdict(named: RowAndTail): Verdict {
    const { filter } = this.#request;
    const token = this.#tree.tokens.liveNamed(named, this.#now);
    if (!token) return "gone";
    if (filter && !this.#isListedRightly(token, filter)) return "mismatched";
    return this.#unlessKept(token);
  }

  /** True when the revocation matches the token itself, whether or not the request contains it. */
  takes(row: number): boolean {
    const known = this.#taken.get(row);
    if (known !== undefined) return known;
    const taken = this.#takes(row);
    this.#taken.set(row, taken);
    return taken;
  }

  #takes(row: number): boolean {
    const { filter } = this.#request;
    const token = this.#tree.tokens.live(row, this.#now);
    if (!token || (filter === null && !this.#named.has(row))) return false;
    return (!filter || this.#isSelected(token, filter)) && this.#unlessKept(token) === "taken";
  }

  #unlessKept({ row, fixed }: TokenRow): Verdict {
    if (!this.#request.includeRoot && isRoot(fixed.record)) return "root";
    return this.#spared.has(row) ? "self" : "taken";
  }

  #isListedRightly(token: TokenRow, filter: TokenFilter): boolean {
    const { treeId } = this.#tree;
    const { unusedSince, ...rest } = filter;
    const listed = this.#listed(token);
    if (!matchesFixed(rest, listed, treeId)) {
      reportTampering({ kind: "inventory entry", object: treeId, row: token.row });
      return false;
    }
    return matches(listed.lastUsed === null ? rest : { ...rest, unusedSince }, listed, treeId, this.#now);
  }

  #isSelected(token: TokenRow, filter: TokenFilter): boolean {
    const listed = this.#listed(token);
    const lastUsed = listed.lastUsed ?? this.#lastUses.get(listed.accessor) ?? null;
    return matches(filter, { ...listed, lastUsed }, this.#tree.treeId, this.#now);
  }

  /** The fields of a token that filters test. `children` is not counted. */
  #listed(token: TokenRow): ListedToken {
    const { tokens, inventory } = this.#tree;
    const entry = inventory.newEntryOf(token, tokens.parentOf(token, this.#now));
    return { ...entry, lastUsed: inventory.lastUsed(token.row), id: token.row };
  }
}

/** Revokes the matching tokens of a request. Synchronous, so that all of them are revoked in one transaction. */
export function revokeFiltered(
  tree: SelectionParts,
  request: Omit<RevokeInTree, "sweptByCaller">,
  now: number,
): RevokedInTree {
  const done = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };
  const { tokens, lineage, descendants } = tree;
  const selected = new SelectedTokens(tree, request, now, new Map());
  const taken = new Set<number>();
  for (const token of request.tokens) {
    const verdict = selected.verdict(token);
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

/**
 * Counts what a revocation would end, in bounded steps. It counts the topmost matching tokens, each with its live
 * descendants. So every token is counted once, even if several calls name tokens of the same tree.
 *
 * @param from cursor of the previous step; null: the first step.
 * @param lastUses hour of the last use (ms) that the list has of ancestors, by accessor.
 * @param now ms.
 */
export function countSelected(
  tree: SelectionParts,
  request: SelectedInTree,
  from: CountCursor | null,
  lastUses: ReadonlyMap<string, number | null>,
  now: number,
): CountedInTree {
  if (!tree.tokens.isCreated) return { tally: NO_TALLY, anew: true, next: null };
  const { tokens } = request;
  const selected = new SelectedTokens(tree, request, now, lastUses);
  const step = new CountStep(tree, now);
  const known = new Map<number, boolean>();
  const begun = from?.row == null ? null : tree.descendants.walk(tokens[from.at]?.row ?? 0, now, from.row);
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
    if (step.isFull) return { tally: step.tally(), anew, next: { at, row: null } };
    if (!token || !step.judge(selected.verdict(token))) continue;
    if (tree.lineage.hasAbove(token.row, (above) => selected.takes(above), known)) continue;
    const row = step.count(tree.descendants.walk(token.row, now, null) ?? [], token.row);
    if (row !== null) return { tally: step.tally(), anew, next: { at, row } };
  }
  return { tally: step.tally(), anew, next: null };
}

/** The counts of one step. */
class CountStep {
  readonly #tree: SelectionParts;
  readonly #now: number;
  readonly #rows: number[] = [];
  readonly #counted: GroupedToken[] = [];
  readonly #seen: Record<Verdict, number> = { taken: 0, gone: 0, mismatched: 0, root: 0, self: 0 };
  #looked = 0;

  constructor(tree: SelectionParts, now: number) {
    this.#tree = tree;
    this.#now = now;
  }

  get isFull(): boolean {
    return this.#looked >= STEP;
  }

  /** Counts the verdict on a token. Returns true when it would be revoked. */
  judge(verdict: Verdict): boolean {
    this.#looked++;
    this.#seen[verdict]++;
    return verdict === "taken";
  }

  /** Counts `top` and the rows of `below`. Returns the last row when the step is full before the end, else null. */
  count(below: Iterable<number>, top?: number): number | null {
    if (top !== undefined) this.#add(top);
    for (const row of below) {
      this.#add(row);
      if (this.isFull) return row;
    }
    return null;
  }

  tally(): Tally {
    const leases = this.#tree.leases.store.countOfTokens(this.#rows, MAX_LEASES + 1);
    return {
      matched: this.#seen.taken,
      root: this.#seen.root,
      self: this.#seen.self,
      total: this.#counted.length,
      leases: { count: Math.min(leases, MAX_LEASES), more: leases > MAX_LEASES },
      by: groupsOf(this.#counted),
    };
  }

  #add(row: number): void {
    this.#looked++;
    const token = this.#tree.tokens.live(row, this.#now);
    if (!token) return;
    this.#rows.push(row);
    this.#counted.push(fixedPart(token.fixed.record));
  }
}
