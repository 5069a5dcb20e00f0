import { currentTime } from "../clock.ts";
import { inGroups, inPool, MAX_PARALLEL_CALLS } from "../parallel.ts";
import { type SweepTurns, sweepThreads } from "./turns.ts";

/** Trees that are marked, and then swept together. Each shard of the list gets one call for all of them. */
const TREES_TOGETHER = 24;
/** Groups of trees at work at a time: one is marked while another is swept. */
const PARTS_AT_ONCE = 2;

/** The two parts of the clean-up of one tree, in their order. */
export interface CleanUp<T, R> {
  /** Marks dead tokens. Safe to repeat. */
  readonly mark: (item: T) => Promise<R>;
  /** Waits until the tree has swept the marked tokens. A failure is logged: the alarm of the tree sweeps again. */
  readonly sweep: (item: T, marked: R) => Promise<void>;
  /** True when marking waits for a server outside of Grove. Such a wait must not hold a turn. */
  readonly waitsElsewhere?: boolean;
}

/**
 * Marks dead tokens in many trees, and waits until they are swept. Only a few trees sweep at a time, however many there
 * are. Where one thread serves everything, marking takes turns with the pieces of sweeps.
 *
 * @returns the results of `mark`, in the order of the items.
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
 * Calls many objects. Where one thread serves everything, it calls one at a time and pauses after each, so that
 * requests are served: several objects that wake together hold the thread for a tenth of a second. A call takes no
 * turn: a tree may sweep before it answers, and takes a turn for that.
 *
 * @returns the answers, in the order of the items.
 */
export async function askApart<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
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
    // One tree in a turn: waking an object and marking its dead tokens hold the thread for some ms.
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
