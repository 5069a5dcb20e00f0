import { fixedPart } from "../listing/inventory/entry.ts";
import type { CountCursor, CountedInTree, MeantInTree } from "../listing/inventory/selection.ts";
import { type GroupedToken, groupsOf, NO_TALLY, type Tally } from "../listing/inventory/tally.ts";
import { type MeantDeps, MeantTokens, type Verdict } from "./meant-tokens.ts";

/** Tokens that one step reads. */
const STEP = 500;
/** Leases that one step counts. */
const MAX_LEASES = 10_000;

/**
 * Counts what a revocation would end, in bounded steps. It counts the topmost matching tokens, each with its live
 * descendants. So every token is counted once, even if several calls name tokens of the same tree.
 *
 * @param from cursor of the previous step; null: the first step.
 * @param lastUses hour of the last use (ms) that the list has of ancestors, by accessor.
 * @param now ms.
 */
export function countMeant(
  tree: MeantDeps,
  request: MeantInTree,
  from: CountCursor | null,
  lastUses: ReadonlyMap<string, number | null>,
  now: number,
): CountedInTree {
  if (!tree.tokens.isCreated) return { tally: NO_TALLY, anew: true, next: null };
  const { tokens } = request;
  const meant = new MeantTokens(tree, request, now, lastUses);
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
    if (!token || !step.judge(meant.verdict(token))) continue;
    if (tree.lineage.hasAbove(token.row, (above) => meant.takes(above), known)) continue;
    const row = step.count(tree.descendants.walk(token.row, now, null) ?? [], token.row);
    if (row !== null) return { tally: step.tally(), anew, next: { at, row } };
  }
  return { tally: step.tally(), anew, next: null };
}

/** The counts of one step. */
class CountStep {
  readonly #tree: MeantDeps;
  readonly #now: number;
  readonly #rows: number[] = [];
  readonly #counted: GroupedToken[] = [];
  #looked = 0;
  #tally = NO_TALLY;

  constructor(tree: MeantDeps, now: number) {
    this.#tree = tree;
    this.#now = now;
  }

  get isFull(): boolean {
    return this.#looked >= STEP;
  }

  /** Counts the verdict on a token. Returns true when it would be revoked. */
  judge(verdict: Verdict): boolean {
    this.#looked++;
    const { matched, root, self } = this.#tally;
    if (verdict === "taken") this.#tally = { ...this.#tally, matched: matched + 1 };
    if (verdict === "root") this.#tally = { ...this.#tally, root: root + 1 };
    if (verdict === "self") this.#tally = { ...this.#tally, self: self + 1 };
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
      ...this.#tally,
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
