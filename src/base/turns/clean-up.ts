import { currentTime } from "../clock.ts";
import { inGroups, inPool, MAX_PARALLEL_CALLS } from "../parallel.ts";
import { sweepThreads } from "./threads.ts";
import type { SweepTurns } from "./turns.ts";

/** So many trees are marked and then swept together: each list gets one call for what goes in all of them. */
const TREES_TOGETHER = 24;
/** While some are swept, others are marked. */
const PARTS_AT_ONCE = 2;

/** What is done to each tree, one after the other. */
export interface CleanUp<T, R> {
  /** Marks what is dead. Safe to repeat. */
  readonly mark: (item: T) => Promise<R>;
  /** Waits until the tree has swept what was marked. What fails at it is left to the alarm of the tree. */
  readonly sweep: (item: T, marked: R) => Promise<void>;
  /** True when marking waits for somebody who is not one of the objects. */
  readonly waitsElsewhere?: boolean;
}

/**
 * Marks what is dead in each of many trees and waits until that is swept, so that no more than a few sweep at a time, however many
 * there are. Where one thread serves everything, marking takes turns with the pieces of sweeps.
 *
 * @returns what the marking of each item gave, in their order.
 */
export async function cleanUpTrees<T, R>(items: readonly T[], work: CleanUp<T, R>): Promise<R[]> {
  const { shared } = sweepThreads();
  if (shared && !work.waitsElsewhere) return inTurns(items, work, shared);
  return inPool(items, MAX_PARALLEL_CALLS, async (item) => {
    const marked = await work.mark(item);
    await sweep(work, item, marked);
    return marked;
  });
}

/**
 * Asks each of many trees. Where one thread serves everything, one tree is asked at a time, with a pause after it in which requests are
 * served: several that wake together hold the thread for a tenth of a second. It takes no turn, because a tree may sweep before it
 * answers and takes one for that.
 *
 * @returns the answers in the order of the items.
 */
export async function askTreesApart<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const { shared } = sweepThreads();
  if (!shared) return inGroups(items, ask);
  const answers: R[] = [];
  for (const item of items) {
    const began = currentTime();
    answers.push(await ask(item));
    await shared.letOthers(currentTime() - began);
  }
  return answers;
}

async function inTurns<T, R>(items: readonly T[], work: CleanUp<T, R>, turns: SweepTurns): Promise<R[]> {
  const done = await inPool(partsOf(items, TREES_TOGETHER), PARTS_AT_ONCE, async (part) => {
    const marked: { item: T; of: R }[] = [];
    // One in a turn: waking an object and marking what is dead hold the thread for some ms.
    for (const item of part) marked.push({ item, of: await turns.piece(() => work.mark(item)) });
    await Promise.all(marked.map(({ item, of }) => sweep(work, item, of)));
    return marked.map(({ of }) => of);
  });
  return done.flat();
}

function partsOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

async function sweep<T, R>(work: CleanUp<T, R>, item: T, marked: R): Promise<void> {
  try {
    await work.sweep(item, marked);
  } catch (error) {
    console.error(JSON.stringify({ type: "sweep", error: String(error) }));
  }
}
