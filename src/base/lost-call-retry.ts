import { currentTime, type Ms, sleep } from "./clock.ts";
import type { Deployment } from "./deployment.ts";
import { isRefusedByLeavingNode } from "./object-moves.ts";
import { givenUp, isGivenUp, isLostCall, LOST } from "./platform-errors.ts";
import { err, ok, type Result } from "./result.ts";

/** Pauses before the repetitions of a lost call. */
const PAUSES_MS: readonly Ms[] = [0, 50, 100, 200, 400, 800];
/** The same while a node hands over its objects, which takes longer on a busy machine. */
const HAND_OVER_PAUSES_MS: readonly Ms[] = [...PAUSES_MS, 800, 800, 800];

/**
 * Calls an object. In a cluster a call is lost when its object moves to another node, or the node of the object ends. A
 * lost call is repeated for about 1.5 s, or 4 s while a node hands over its objects; each attempt looks the object up
 * again. The time is short: a waiting request takes capacity from requests to other objects, and clients retry after
 * the 503.
 *
 * @param call must be safe to repeat: a lost call may have been carried out. `again`: an earlier attempt may have been.
 * @throws the error of the last attempt. The error of a call that was lost at every attempt is marked by `givenUp`, so
 *   that callers in other objects don't repeat it: the waits of a chain of calls would multiply.
 */
export async function repeated<T>(
  { moves }: Pick<Deployment, "moves">,
  call: (again: boolean) => Promise<T>,
  wait: (ms: Ms) => Promise<void> = sleep,
): Promise<T> {
  let again = false;
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(again);
    } catch (error) {
      if (!moves || !isLostCall(error) || isGivenUp(error)) throw error;
      const pauseMs = (moves.arePlanned(currentTime()) ? HAND_OVER_PAUSES_MS : PAUSES_MS)[attempt];
      if (pauseMs === undefined) throw givenUp(error);
      again ||= !isRefusedByLeavingNode(error);
      await wait(pauseMs);
    }
  }
}

/** Which attempt of a call this is. A cluster repeats lost calls. */
export interface CallAttempt {
  /** Random, and the same for all attempts: the object recognises what an earlier one has done. Set in a cluster. */
  readonly callId?: string;
  /** True when an earlier attempt may have been carried out. */
  readonly again?: boolean;
}

/**
 * Calls an object that recognises attempts of one call (`CarriedOutCalls`), repeatedly in a cluster. Elsewhere no call
 * is repeated, and `attempt` is absent.
 *
 * @returns `isRepetition`: an attempt before the answered one may have been carried out.
 */
export async function attempted<T>(
  { deployment }: { readonly deployment: Pick<Deployment, "moves"> },
  call: (attempt?: CallAttempt) => Promise<T>,
): Promise<{ readonly answer: T; readonly isRepetition: boolean }> {
  if (!deployment.moves) return { answer: await call(), isRepetition: false };
  const callId = crypto.randomUUID();
  let isRepetition = false;
  const answer = await repeated(deployment, (again) => {
    isRepetition = again;
    return call({ callId, again });
  });
  return { answer, isRepetition };
}

/**
 * `attempted`, for a change. A failure of a repetition is answered 503, because the change itself may be its cause: an
 * object of 1.0.0-rc.1 recognises no attempts.
 */
export async function changedOnce<T>(
  env: Parameters<typeof attempted>[0],
  change: (attempt?: CallAttempt) => Promise<Result<T>>,
): Promise<Result<T>> {
  const { answer, isRepetition } = await attempted(env, change);
  return answer.ok || !isRepetition ? answer : err(LOST);
}

/** `changedOnce`, for a change that says whether it was made. */
export async function madeOnce(
  env: Parameters<typeof attempted>[0],
  change: (attempt?: CallAttempt) => Promise<boolean>,
): Promise<Result<boolean>> {
  const { answer: isMade, isRepetition } = await attempted(env, change);
  return isMade || !isRepetition ? ok(isMade) : err(LOST);
}
