import { SweepTurns } from "./turns.ts";

/** The threads that sweeps of trees run on. */
export interface SweepThreads {
  /** The turns of one more tree. */
  turnsOfTree(): SweepTurns;
  /** The turns of all trees where they have one thread; null where each has its own. */
  readonly shared: SweepTurns | null;
}

/** On the network each object has a thread. */
export const OWN_THREADS: SweepThreads = { turnsOfTree: () => new SweepTurns(), shared: null };

const TURNS = new SweepTurns();

/** In one process all objects and all requests have the same thread. */
export const SHARED_THREAD: SweepThreads = { turnsOfTree: () => TURNS, shared: TURNS };

let current = OWN_THREADS;

/** The threads of sweeps in this deployment. */
export function sweepThreads(): SweepThreads {
  return current;
}

/** Chooses the threads of sweeps in this deployment. */
export function useSweepThreads(chosen: SweepThreads): void {
  current = chosen;
}
