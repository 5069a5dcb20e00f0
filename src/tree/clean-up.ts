import { inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { isOneProcess } from "./live-tokens.ts";
import { turnsOf } from "./sweep-turns.ts";

/** Trees that are marked in one turn: some ms, the waking of the objects included. */
const TREES_IN_TURN = 3;
/** So many such groups a clean-up works on at a time: what they take off the lists goes together. */
const GROUPS_AT_ONCE = 8;

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
export async function cleanUpTrees<T, R>(env: Env, items: readonly T[], work: CleanUp<T, R>): Promise<R[]> {
  const turns = isOneProcess(env) && !work.waitsElsewhere ? turnsOf(env) : null;
  const size = turns ? TREES_IN_TURN : 1;
  const groups = Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
  const done = await inPool(groups, turns ? GROUPS_AT_ONCE : MAX_PARALLEL_CALLS, async (group) => {
    const markAll = () => Promise.all(group.map(async (item) => ({ item, marked: await work.mark(item) })));
    const all = await (turns ? turns.piece(markAll) : markAll());
    await Promise.all(all.map(({ item, marked }) => sweep(work, item, marked)));
    return all.map(({ marked }) => marked);
  });
  return done.flat();
}

async function sweep<T, R>(work: CleanUp<T, R>, item: T, marked: R): Promise<void> {
  try {
    await work.sweep(item, marked);
  } catch (error) {
    console.error(JSON.stringify({ type: "sweep", error: String(error) }));
  }
}
