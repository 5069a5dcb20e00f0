import { currentTime, sleep } from "../../../base/clock.ts";
import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { countEvent } from "../../../metrics/events.ts";
import { type NoAnswer, type OutboundRequest, type SentAnswer, send, serviceUnavailable } from "../../send.ts";
import { type CloudAnswer, errorCodeOf, isTemporary, MAX_ANSWER_BYTES, type Service } from "../answers/answer.ts";

/** Which hosts may be called, and how a call is repeated after a temporary failure. */
export type CallPolicy = {
  /** Private hosts that may be called. */
  readonly hosts: PrivateHosts;
  /** Repetitions after the first try; -1 for `DEFAULT_RETRIES`. */
  readonly maxRetries: number;
  /** Further error codes that count as temporary failures. */
  readonly alsoTemporary?: ReadonlySet<string>;
};

const DEFAULT_RETRIES = 3;
/** Maximum duration of one try. */
const TRY_MS = 5_000;
/** Maximum duration of all tries with their pauses. A login waits for it, so `max_retries` can't extend it. */
export const CALL_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Calls a service, and repeats the call after temporary failures.
 *
 * @param request makes the request of each try: a signature is valid for a few minutes only.
 * @returns the last answer, whatever its status; "unavailable" when there is none.
 */
export async function callService(
  service: Service,
  policy: CallPolicy,
  request: () => Promise<OutboundRequest>,
): Promise<Result<CloudAnswer>> {
  const retries = policy.maxRetries < 0 ? DEFAULT_RETRIES : policy.maxRetries;
  const deadline = currentTime() + CALL_MS;
  for (let attempt = 0; ; attempt++) {
    const timeoutMs = Math.min(TRY_MS, Math.max(1, deadline - currentTime()));
    const sent = await send(await request(), { timeoutMs, maxBytes: MAX_ANSWER_BYTES[service], hosts: policy.hosts });
    countEvent("cloud_call", [service.toLowerCase(), resultOf(sent)]);
    const pause = pauseBeforeNext(sent, attempt, policy, Math.random());
    if (pause === null || attempt >= retries || currentTime() + pause >= deadline) return outcomeOf(service, sent);
    await sleep(pause);
  }
}

/**
 * The pause before the next try in ms, or null when another try would have the same result. The pause doubles with each
 * try, and half of it is random: clients that failed together do not try again together.
 *
 * @param attempt number of earlier tries.
 * @param random from 0 to 1.
 */
export function pauseBeforeNext(
  sent: Result<SentAnswer, NoAnswer>,
  attempt: number,
  policy: Pick<CallPolicy, "alsoTemporary">,
  random: number,
): number | null {
  if (!mayChange(sent, policy)) return null;
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  const asked = (sent.ok ? sent.value.retryAfterSeconds : null) ?? 0;
  return Math.max(Math.ceil(longest * (0.5 + random / 2)), asked * 1000);
}

function mayChange(sent: Result<SentAnswer, NoAnswer>, { alsoTemporary }: Pick<CallPolicy, "alsoTemporary">): boolean {
  if (!sent.ok) return sent.error === "unreachable" || sent.error === "timeout";
  if (isTemporary(sent.value)) return sent.value.status !== 501;
  return sent.value.status !== 200 && alsoTemporary?.has(errorCodeOf(sent.value) ?? "") === true;
}

/** The result of a try, for metrics. */
function resultOf(sent: Result<SentAnswer, NoAnswer>): string {
  if (!sent.ok) return sent.error;
  if (sent.value.status === 200) return "success";
  return isTemporary(sent.value) ? "temporary" : "refused";
}

function outcomeOf(service: Service, sent: Result<SentAnswer, NoAnswer>): Result<CloudAnswer> {
  if (sent.ok) return ok(sent.value);
  switch (sent.error) {
    case "unreadable":
      return refuse(`answer of ${service} is too long or no text`);
    case "not_allowed":
      return refuse(`the configured host of ${service} may not be called from here`);
    case "timeout":
      return err(serviceUnavailable(`${service} does not answer in time`));
    case "unreachable":
      return err(serviceUnavailable(`${service} can't be reached`));
  }
}
