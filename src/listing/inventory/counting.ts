import { currentTime, LATE, orLate } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { loadInstallation } from "../../system/installation.ts";
import { isEnded } from "../../system/watermarks.ts";
import { treeAt } from "../../token/find-tree.ts";
import { decodeStoredId, treeIdOf } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import { judged, type ListedToken } from "./entry.ts";
import type { Position } from "./order.ts";
import { findInInventory, pageOfInventory, treesWithLeases } from "./queries.ts";
import { type CountCursor, isRoot, type MeantInTree, type Selection } from "./selection.ts";
import { addTally, groupsOf, NO_TALLY, type Tally } from "./tally.ts";

/** Tokens of the list that one step reads. */
const PAGE = 2000;
/** Trees that one step asks. What is counted of unfinished ones is stored with the rest: a row has at most 2 MB. */
const TREES_AT_ONCE = 12;

/** Once the whole list is read, steps have no time limit until so many tokens are counted. */
const MIN_COUNTED = 2000;
/** No step begins later (ms). */
const LAST_STEP_MS = 1000;
/** A step that is not done by then (ms) is left to the job, which repeats it: an answer comes within two seconds. */
const GIVEN_UP_MS = 1500;

/** Tokens of one tree that the tree still has to count. */
interface TreeShare {
  readonly treeId: string;
  readonly accessors: readonly string[];
  /** null: nothing is counted yet. */
  readonly from: CountCursor | null;
  /** What is counted. */
  readonly tally: Tally;
}

/** How far the count of what a revocation would end is. Is stored as JSON between steps: a step that is repeated counts nothing twice. */
export interface CountState {
  /** The list is read up to here; null: from the beginning. */
  readonly after: Position | null;
  /** True when the list was read to its end. */
  readonly isRead: boolean;
  /** Of the page that was read last. */
  readonly left: readonly TreeShare[];
  /** Without what is counted of `left`. */
  readonly tally: Tally;
}

/** Before the first step. */
export const NOT_COUNTED: CountState = { after: null, isRead: false, left: [], tally: NO_TALLY };

/** True when nothing is left to count: then the tally is what the revocation would end. */
export function isCounted({ isRead, left }: CountState): boolean {
  return isRead && left.length === 0;
}

/** How many tokens are counted, those of trees that are not finished included. */
export function countedSoFar({ tally, left }: CountState): number {
  return left.reduce((sum, share) => sum + share.tally.total, tally.total);
}

/**
 * One bounded step of a count. What the list says is enough for a token that has nothing above or below it and no lease; of all
 * others their trees are asked, which know what counts with another.
 *
 * @param now ms.
 */
export async function countStep(
  env: ListingEnv,
  selection: Selection,
  state: CountState,
  now: number,
): Promise<CountState> {
  if (state.left.length === 0) return readPage(env, selection, state, now);
  const asked = state.left.slice(0, TREES_AT_ONCE);
  const answers = await inGroups(asked, (share) => countInTree(env, selection, share));
  const done = answers.filter(({ from }) => from === null);
  return {
    ...state,
    left: [...answers.filter(({ from }) => from !== null), ...state.left.slice(TREES_AT_ONCE)],
    tally: done.reduce((sum, { tally }) => addTally(sum, tally), state.tally),
  };
}

/**
 * Counts as far as one request may take. The first step is always waited for: only then is it known how much there is.
 *
 * @param step the next step of the count. It changes nothing.
 * @param began when the request came (ms).
 * @param maxSteps at least one.
 */
export async function countWithinRequest(
  step: (state: CountState) => Promise<CountState>,
  began: number,
  maxSteps: number,
): Promise<CountState> {
  let state = await step(NOT_COUNTED);
  for (let taken = 1; taken < maxSteps && !isCounted(state); taken++) {
    const isSmall = state.isRead && countedSoFar(state) < MIN_COUNTED;
    const next = isSmall ? await step(state) : await stepInTime(step, state, currentTime() - began);
    if (next === null) break;
    state = next;
  }
  return state;
}

/**
 * A step with a time limit. One that is given up may still run beside its repetition by the job: it only reads, and its result
 * is dropped.
 *
 * @returns null when there is no time for the step.
 */
async function stepInTime(
  step: (state: CountState) => Promise<CountState>,
  state: CountState,
  elapsedMs: number,
): Promise<CountState | null> {
  if (elapsedMs > LAST_STEP_MS) return null;
  const stepped = await orLate(step(state), GIVEN_UP_MS - elapsedMs);
  return stepped === LATE ? null : stepped;
}

/** True when the list says that a token has nothing above or below it, and no token of its tree is to be spared. */
export function isSingle({ parent, children, accessor }: ListedToken, { spare }: Selection): boolean {
  return parent === null && children === 0 && treeIdOf(accessor) !== spare?.treeId;
}

/** Accessors by the id of their tree. */
export function byTree(accessors: readonly string[]): [string, string[]][] {
  return [...Map.groupBy(accessors, treeIdOf)].filter(([treeId]) => treeId !== "");
}

/** What a selection asks of one tree: about these of its tokens. */
export function meantInTree(
  { filter, includeRoot, spare }: Selection,
  treeId: string,
  accessors: readonly string[],
): MeantInTree {
  const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
  const tokens = places.map(({ row, tail }) => ({ row, tail }));
  return { tokens, filter, includeRoot, spare: spare?.treeId === treeId ? spare.row : null };
}

async function readPage(env: ListingEnv, selection: Selection, state: CountState, now: number): Promise<CountState> {
  const { tokens, unlisted, next } = await listedPage(env, selection, state.after, now);
  const singles = tokens.filter((token) => isSingle(token, selection));
  const leased = await treesWithLeases(
    env,
    singles.map(({ accessor }) => treeIdOf(accessor)),
  );
  const alone = new Set(singles.filter(({ accessor }) => !leased.has(treeIdOf(accessor))));
  const asked = tokens.filter((token) => !alone.has(token)).map(({ accessor }) => accessor);
  const left = byTree([...asked, ...unlisted]).map(([treeId, accessors]) => ({
    treeId,
    accessors,
    from: null,
    tally: NO_TALLY,
  }));
  const tally = addTally(state.tally, await tallyOf(env, selection, [...alone]));
  return { after: next, isRead: next === null, left, tally };
}

async function listedPage(env: ListingEnv, { filter, accessors }: Selection, after: Position | null, now: number) {
  if (filter !== null) {
    const order = { by: "created", descending: false } as const;
    return { ...(await pageOfInventory(env, filter, order, after, PAGE, now)), unlisted: [] };
  }
  const found = await findInInventory(env, accessors ?? []);
  const unlisted = (accessors ?? []).filter((accessor) => !found.has(accessor));
  return { tokens: [...found.values()].filter(({ expiresAt }) => (expiresAt ?? now + 1) > now), unlisted, next: null };
}

/** What the list says of tokens that have nothing above or below them. */
async function tallyOf(env: ListingEnv, { includeRoot }: Selection, tokens: readonly ListedToken[]): Promise<Tally> {
  if (tokens.length === 0) return NO_TALLY;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) throw new Error(`the installation does not answer: ${loaded.error.code}`);
  const { watermarks } = loaded.value;
  const alive = tokens.filter((token) => !isEnded(watermarks, "all", judged(token)));
  const taken = alive.filter((token) => includeRoot || !isRoot(token));
  const root = alive.length - taken.length;
  return { ...NO_TALLY, matched: taken.length, total: taken.length, by: groupsOf(taken), root };
}

async function countInTree(env: ListingEnv, selection: Selection, share: TreeShare): Promise<TreeShare> {
  const { treeId, accessors, from } = share;
  const counted = await treeAt(env, treeId).countMeant(meantInTree(selection, treeId, accessors), from);
  const before = counted.anew ? NO_TALLY : share.tally;
  return { ...share, from: counted.next, tally: addTally(before, counted.tally) };
}
