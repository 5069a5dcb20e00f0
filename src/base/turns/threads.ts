import { SweepTurns } from "./turns.ts";

const TURNS = new SweepTurns();

let hasOneThread = false;

/** The turns of all sweeps where objects and requests have one thread; null where each object has its own, as on the network. */
export function sharedTurns(): SweepTurns | null {
  return hasOneThread ? TURNS : null;
}

/** Chooses whether all objects and all requests of this deployment have the same thread. */
export function useOneThread(chosen: boolean): void {
  hasOneThread = chosen;
}
