import { type Ms, sleep } from "./clock.ts";
import type { Deployment } from "./deployment.ts";
import { givenUp, isGivenUp, isLostCall } from "./platform-errors.ts";

/** Pauses before the repetitions of a lost call: longer than an object needs to move from a node that stops. */
const PAUSES_MS: readonly Ms[] = [0, 50, 100, 200, 400, 800];

/**
 * Calls an object. In a cluster a call is lost when its object moves to another node, or the node of the object ends. Then
 * it is repeated for a moment, as the object is found anew each time. The wait is short: a waiting request has a place
 * that requests to other objects need, and clients come back after the 503.
 *
 * @param call may have been carried out when it is repeated, so it has to be safe to repeat. `again`: it is a repetition.
 * @param wait waits so long.
 * @throws the error of the last attempt, or one that callers don't repeat: the waits of a chain of calls would multiply
 */
export async function repeated<T>(
  { repeatsLostCalls }: Pick<Deployment, "repeatsLostCalls">,
  call: (again: boolean) => Promise<T>,
  wait: (ms: Ms) => Promise<void> = sleep,
): Promise<T> {
  const pauses = repeatsLostCalls ? PAUSES_MS : [];
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(attempt > 0);
    } catch (error) {
      const pauseMs = pauses[attempt];
      if (!repeatsLostCalls || !isLostCall(error) || isGivenUp(error)) throw error;
      if (pauseMs === undefined) throw givenUp(error);
      await wait(pauseMs);
    }
  }
}
