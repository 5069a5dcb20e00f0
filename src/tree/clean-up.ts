import { inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { isOneProcess } from "./live-tokens.ts";
import { turnsOf } from "./sweep-turns.ts";

/** Trees that one clean-up works on at a time where one process serves everything: what they take off the lists goes together. */
const TREES_AT_ONCE = 24;

/**
 * Does something to each of many trees, of which each answers when it has swept. So no more than a few sweep at a time, however
 * many there are. Results in the order of the items.
 *
 * @param work is given what a call that is no sweep is to be made through: where one thread serves everything, such calls take
 *   turns with the pieces of sweeps.
 */
export function cleanUpTrees<T, R>(
  env: Env,
  items: readonly T[],
  work: (item: T, inTurn: InTurn) => Promise<R>,
): Promise<R[]> {
  if (!isOneProcess(env)) return inPool(items, MAX_PARALLEL_CALLS, (item) => work(item, (call) => call()));
  const turns = turnsOf(env);
  return inPool(items, TREES_AT_ONCE, (item) => work(item, (call) => turns.piece(call)));
}

/** Makes a call when it is its turn. */
export type InTurn = <A>(call: () => Promise<A>) => Promise<A>;
