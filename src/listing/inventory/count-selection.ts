import { currentTime, LATE, type Ms, orLate } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { unlessDamaged } from "../../base/platform-errors.ts";
import { loadInstallation } from "../../system/installation.ts";
import { isEnded } from "../../system/watermarks.ts";
import { treeIdOf } from "../../token/ids.ts";
import { treeAt } from "../../token/tree-stub.ts";
import type { ListingEnv } from "../env.ts";
import { judged, type ListedToken } from "./entry.ts";
import { findInInventory, treesWithLeases } from "./queries.ts";
import {
  byTree,
  type CountCursor,
  isRoot,
  isSingleSelected,
  type Selection,
  type SelectionPosition,
  selectedInTree,
  selectedTokens,
} from "./selection.ts";
import { addTally, NO_TALLY, type Tally, tallyGroups } from "./tally.ts";

const PAGE = 2000;
/** Trees that one step calls: their unfinished tallies are in the row of the job, which has at most 2 MB. */
const TREES_AT_ONCE = 12;

/** Once the whole list is read, steps have no time limit until this many tokens are counted. */
const MIN_COUNTED = 2000;
/** No step begins later than this after the request. */
const LAST_STEP_MS = 1000;
/** A step that ends later than this after the request is left to the job: an answer takes 2 seconds at most. */
const GIVEN_UP_MS = 1500;

interface TreeShare {
  readonly treeId: string;
  readonly accessors: readonly string[];
  /** null: nothing is counted yet. */
  readonly from: CountCursor | null;
  readonly tally: Tally;
}

/** State of a count, stored as JSON between steps: a repeated step counts nothing twice. */
export interface CountState {
  /** Position up to which the selection is read; null: none of it is. */
  readonly after: SelectionPosition | null;
  readonly isRead: boolean;
  /** Trees of the last page that are not finished. */
  readonly left: readonly TreeShare[];
  /** Tally without those of `left`. */
  readonly tally: Tally;
}

/** State before the first step. */
export const NOT_COUNTED: CountState = { after: null, isRead: false, left: [], tally: NO_TALLY };

/** True when the count is complete: then the tally is what the revocation would end. */
export function isCounted({ isRead, left }: CountState): boolean {
  return isRead && left.length === 0;
}

/** Returns the number of counted tokens, including those of trees that are not finished. */
export function countedSoFar({ tally, left }: CountState): number {
  return left.reduce((sum, share) => sum + share.tally.total, tally.total);
}

/**
 * Performs one bounded step of a count. A token without parent, children and leases is counted by its entry in the
 * list. For all others their trees are called, which know what is above and below.
 */
export async function countStep(env: ListingEnv, selection: Selection, state: CountState, now: Ms) {
  if (state.left.length === 0) return readPage(env, selection, state, now);
  const asked = state.left.slice(0, TREES_AT_ONCE);
  const answers = await inGroups(asked, (share) => countShare(env, selection, share));
  const done = answers.filter(({ from }) => from === null);
  return {
    ...state,
    left: [...answers.filter(({ from }) => from !== null), ...state.left.slice(TREES_AT_ONCE)],
    tally: done.reduce((sum, { tally }) => addTally(sum, tally), state.tally),
  };
}

/**
 * Counts as far as the time of one request allows, from its arrival (`began`) and in at most `maxSteps`. The first
 * step has no time limit: only its result shows how much there is.
 */
export async function countWithinRequest(
  step: (state: CountState) => Promise<CountState>,
  began: Ms,
  maxSteps: number,
): Promise<CountState> {
  let state = await step(NOT_COUNTED);
  for (let taken = 1; taken < maxSteps && !isCounted(state); taken++) {
    const elapsed = currentTime() - began;
    const isSmall = state.isRead && countedSoFar(state) < MIN_COUNTED;
    if (!isSmall && elapsed > LAST_STEP_MS) break;
    // A step that takes too long may still run while the job repeats it: it only reads, and its result is dropped.
    const next = isSmall ? await step(state) : await orLate(step(state), GIVEN_UP_MS - elapsed);
    if (next === LATE) break;
    state = next;
  }
  return state;
}

async function readPage(env: ListingEnv, selection: Selection, state: CountState, now: Ms): Promise<CountState> {
  const { accessors, listed, next } = await selectedTokens(env, selection, state.after, PAGE, now);
  const singles = listed.filter((token) => isSingleSelected(token, selection));
  const trees = singles.map(({ accessor }) => treeIdOf(accessor));
  const leased = await treesWithLeases(env, trees);
  const alone = singles.filter(({ accessor }) => !leased.has(treeIdOf(accessor)));
  return {
    after: next,
    isRead: next === null,
    left: byTree(accessors, alone).map(([treeId, of]) => ({ treeId, accessors: of, from: null, tally: NO_TALLY })),
    tally: addTally(state.tally, await tallyOf(env, selection, alone)),
  };
}

async function tallyOf(env: ListingEnv, { includeRoot }: Selection, tokens: readonly ListedToken[]): Promise<Tally> {
  if (tokens.length === 0) return NO_TALLY;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) throw new Error(`the installation does not answer: ${loaded.error.code}`);
  const { watermarks } = loaded.value;
  const alive = tokens.filter((token) => !isEnded(watermarks, "all", judged(token)));
  const taken = alive.filter((token) => includeRoot || !isRoot(token));
  const root = alive.length - taken.length;
  return { ...NO_TALLY, matched: taken.length, total: taken.length, by: tallyGroups(taken), root };
}

async function countShare(env: ListingEnv, selection: Selection, share: TreeShare): Promise<TreeShare> {
  const { treeId, accessors, from } = share;
  const inTree = selectedInTree(selection, treeId, accessors);
  const counted = await unlessDamaged(treeAt(env, treeId).countMeant(inTree, from));
  // A damaged tree must not keep the tokens of all others alive. Its tokens are counted by the list, without what is below.
  if (!counted) {
    const listed = await findInInventory(env, accessors);
    return { ...share, from: null, tally: await tallyOf(env, selection, [...listed.values()]) };
  }
  const before = counted.anew ? NO_TALLY : share.tally;
  return { ...share, from: counted.next, tally: addTally(before, counted.tally) };
}
