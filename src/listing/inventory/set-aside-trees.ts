import type { PlannedEnds } from "./retried-step.ts";

/** A tree whose call failed. */
export interface FailedTree {
  readonly treeId: string;
  readonly cause: string;
  /** True when its database is damaged, so that calling it again is hardly of use. */
  readonly isDamaged: boolean;
}

/** A tree that failed in a job, with the selected tokens in it. */
export interface SetAsideTree extends FailedTree {
  readonly accessors: readonly string[];
  /** Selected tokens of it that are only counted. */
  readonly unnamed: number;
  /** What a failed call may have ended, if its answer was lost. */
  readonly ends: PlannedEnds;
  /** Failed calls, each some seconds after the one before. */
  readonly tries: number;
}

const MAX_TRIES = 20;
const MAX_TRIES_DAMAGED = 3;
/** Trees that a job sets aside. Beyond it the fault is hardly one of single trees. */
export const MAX_SET_ASIDE_TREES = 1000;
/** With more tokens set aside, their trees are called again. Trees that are given up keep the names of as many tokens. */
const MAX_TOKENS = 2000;
/** Tokens that a receipt names. */
const MAX_SHOWN = 900;

/** True for a tree that is not called again. */
export function isTreeGivenUp({ tries, isDamaged }: SetAsideTree): boolean {
  return tries >= (isDamaged ? MAX_TRIES_DAMAGED : MAX_TRIES);
}

/** True when these trees must be called again before the job goes on: its row has no room for more tokens. */
export function isTooMuch(open: readonly SetAsideTree[]): boolean {
  return open.length > MAX_SET_ASIDE_TREES || namedIn(open) > MAX_TOKENS;
}

function namedIn(trees: readonly SetAsideTree[]): number {
  return trees.reduce((sum, { accessors }) => sum + accessors.length, 0);
}

/** The tokens of a step by tree, without those of trees that it does not call. */
export function withoutTrees<T>(byTree: readonly [string, T][], skipped: readonly FailedTree[]): [string, T][] {
  return byTree.filter(([treeId]) => skipped.every((tree) => tree.treeId !== treeId));
}

/** Adds the tokens of a page that are in failed trees, of which some may be set aside already. */
export function afterPage(
  before: readonly SetAsideTree[],
  page: readonly (readonly [treeId: string, accessors: readonly string[]])[],
  ends: PlannedEnds,
  failed: readonly FailedTree[],
): readonly SetAsideTree[] {
  const trees = new Map(before.map((tree) => [tree.treeId, tree]));
  const inPage = new Map(page);
  for (const { treeId, cause, isDamaged } of failed) {
    const accessors = inPage.get(treeId);
    if (!accessors) continue;
    const known = trees.get(treeId) ?? { accessors: [], unnamed: 0, ends: [], tries: 1 };
    const planned = ends.filter(([ofTree]) => ofTree === treeId);
    const all = { accessors: [...known.accessors, ...accessors], ends: [...known.ends, ...planned] };
    trees.set(treeId, { ...known, ...all, treeId, cause, isDamaged });
  }
  return bounded([...trees.values()]);
}

/** The trees that are still set aside after all that are not given up were called again. */
export function afterRetry(before: readonly SetAsideTree[], failed: readonly FailedTree[]): readonly SetAsideTree[] {
  const again = new Map(failed.map((tree) => [tree.treeId, tree]));
  const left = before.flatMap((tree) => {
    const failure = again.get(tree.treeId);
    if (failure) return [{ ...tree, ...failure, tries: tree.tries + 1 }];
    return isTreeGivenUp(tree) ? [tree] : [];
  });
  return bounded(left);
}

/** Trees that are given up keep the names of `MAX_TOKENS` tokens in all. */
function bounded(trees: readonly SetAsideTree[]): readonly SetAsideTree[] {
  let room = MAX_TOKENS;
  return trees.map((tree) => {
    if (!isTreeGivenUp(tree)) return tree;
    const accessors = tree.accessors.slice(0, room);
    room -= accessors.length;
    return { ...tree, accessors, unnamed: tree.unnamed + tree.accessors.length - accessors.length, ends: [] };
  });
}

/** Number of selected tokens in trees that are set aside, and which and why, as far as they are named. */
export function notEnded(trees: readonly SetAsideTree[]) {
  const named = trees.flatMap(({ accessors, cause }) => accessors.map((accessor) => ({ accessor, cause })));
  const count = trees.reduce((sum, { unnamed }) => sum + unnamed, named.length);
  return { count, tokens: named.slice(0, MAX_SHOWN) };
}
