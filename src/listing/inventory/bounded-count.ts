import { currentTime } from "../../base/clock.ts";
import { type CountState, countedSoFar, isCounted, NOT_COUNTED } from "./counting.ts";

/** Once the whole list is read, steps have no time limit until so many tokens are counted. */
const MIN_COUNTED = 2000;
/** No step begins later (ms). */
const LAST_STEP_MS = 1000;
/** A step that is not done by then (ms) is left to the job, which repeats it: an answer comes within two seconds. */
const GIVEN_UP_MS = 1500;

/**
 * Counts as far as one request may take. The first step is always waited for: only then is it known how much there is.
 *
 * @param step the next step of the count. It changes nothing.
 * @param began when the request came (ms).
 * @param maxSteps at least one.
 */
export async function countWithinRequest(
  step: (state: CountState) => Promise<CountState>,
  began: number,
  maxSteps: number,
): Promise<CountState> {
  let state = await step(NOT_COUNTED);
  for (let taken = 1; taken < maxSteps && !isCounted(state); taken++) {
    const isSmall = state.isRead && countedSoFar(state) < MIN_COUNTED;
    const next = isSmall ? await step(state) : await stepInTime(step, state, currentTime() - began);
    if (next === null) break;
    state = next;
  }
  return state;
}

/**
 * A step with a time limit. One that is given up may still run beside its repetition by the job: it only reads, and its result
 * is dropped.
 *
 * @returns null when there is no time for the step.
 */
async function stepInTime(
  step: (state: CountState) => Promise<CountState>,
  state: CountState,
  elapsedMs: number,
): Promise<CountState | null> {
  if (elapsedMs > LAST_STEP_MS) return null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, GIVEN_UP_MS - elapsedMs, null);
  });
  try {
    return await Promise.race([step(state), late]);
  } finally {
    clearTimeout(timer);
  }
}
