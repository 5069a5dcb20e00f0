import { SweepTurns } from "./turns.ts";

/** The threads on which trees are swept. */
export interface SweepThreads {
  /** Turns for the sweeps of one tree. */
  turnsOfTree(): SweepTurns;
  /** Turns of all trees where they share one thread; null where each tree has its own. */
  readonly shared: SweepTurns | null;
}

/** On the network each object has a thread. */
export const OWN_THREADS: SweepThreads = { turnsOfTree: () => new SweepTurns(), shared: null };

const TURNS = new SweepTurns();

/** In one process all objects and all requests have the same thread. */
export const SHARED_THREAD: SweepThreads = { turnsOfTree: () => TURNS, shared: TURNS };

let current = OWN_THREADS;

/** Returns the threads of sweeps in this deployment. */
export function sweepThreads(): SweepThreads {
  return current;
}

/** Chooses the threads of sweeps in this deployment. */
export function useSweepThreads(chosen: SweepThreads): void {
  current = chosen;
}
