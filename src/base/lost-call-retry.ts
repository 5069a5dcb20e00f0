import { type Ms, sleep } from "./clock.ts";
import type { Deployment } from "./deployment.ts";
import { givenUp, isGivenUp, isLostCall } from "./platform-errors.ts";

/** Pauses before the repetitions of a lost call: longer than an object needs to move from a node that stops. */
const PAUSES_MS: readonly Ms[] = [0, 50, 100, 200, 400, 800];

/**
 * Calls an object. In a cluster a call is lost when its object moves to another node, or the node of the object ends. A
 * lost call is repeated for about 1.5 s; each attempt looks the object up again. The time is short: a waiting request
 * takes capacity from requests to other objects, and clients retry after the 503.
 *
 * @param call must be safe to repeat: a lost call may have been carried out. `again`: it is a repetition.
 * @throws the error of the last attempt. The error of a call that was lost at every attempt is marked by `givenUp`, so
 *   that callers in other objects don't repeat it: the waits of a chain of calls would multiply.
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
