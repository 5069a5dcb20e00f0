import type { Ms } from "./clock.ts";

/** Time from the last call that a leaving node refused until its objects have moved. */
const HAND_OVER_MS: Ms = 8_000;

/** Begins like a lost call of the platform, so that callers in other nodes repeat the call. */
const IS_LEAVING = "Network connection lost: the node hands over its objects";

/** True for a lost call that was refused before it began. */
export function isRefusedByLeavingNode(error: unknown): boolean {
  return error instanceof Error && error.message === IS_LEAVING;
}

/** What an isolate of a cluster knows about objects that move between nodes. */
export class ObjectMoves {
  #refusedAt: Ms = Number.NEGATIVE_INFINITY;
  #isLeaving = false;

  /** Notes the error of a lost call: the node of its object may be handing over its objects. */
  noteLostCall(error: unknown, now: Ms): void {
    if (isRefusedByLeavingNode(error)) this.#refusedAt = now;
  }

  /** True while a node hands over its objects: they will be reachable soon. */
  arePlanned(now: Ms): boolean {
    return now - this.#refusedAt < HAND_OVER_MS;
  }

  /** This node is about to hand over its objects: from now on they refuse changes that are not repeated. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Called before anything is changed. @throws a lost call on a node that is about to hand over its objects. */
  accept(): void {
    if (this.#isLeaving) throw new Error(IS_LEAVING);
  }
}
