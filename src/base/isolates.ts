/** The isolates that run this deployment. Chosen once, when the application is assembled (`src/app/assemble.ts`). */
export interface Isolates {
  /** False when one isolate runs the Worker and all objects, so that they share its memory. */
  readonly areMany: boolean;
  /** Maximum difference between their clocks (ms). */
  readonly clockSkewMs: number;
}

/** Cloudflare's network: Workers and objects run in many isolates, each object on a thread of its own. */
export const MANY_ISOLATES: Isolates = { areMany: true, clockSkewMs: 60_000 };

/** `npm run serve`: one process has the Worker and all its objects, on one thread. */
export const ONE_ISOLATE: Isolates = { areMany: false, clockSkewMs: 0 };

let current = MANY_ISOLATES;

/** The isolates of this deployment. */
export function isolates(): Isolates {
  return current;
}

/** Chooses the isolates of this deployment. */
export function useIsolates(chosen: Isolates): void {
  current = chosen;
}
