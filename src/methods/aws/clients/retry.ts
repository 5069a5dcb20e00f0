import { currentTime, sleep } from "../../../base/clock.ts";
import type { PrivateHosts } from "../../../base/private-hosts.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { countEvent } from "../../../metrics/events.ts";
import { type NoAnswer, type OutboundRequest, type SentAnswer, send, serviceUnavailable } from "../../send.ts";
import { type CloudAnswer, errorCodeOf, isTemporary, MAX_ANSWER_BYTES, type Service } from "../answers/answer.ts";

/** How a service is called: where it may be, and how a call is repeated after a temporary failure. */
export type CallPolicy = {
  /** Hosts that may be called beside public ones. */
  readonly hosts: PrivateHosts;
  /** From the configuration: repetitions after the first try; -1 leaves it to this client. */
  readonly maxRetries: number;
  /** Error codes of temporary failures, besides those that always are temporary. */
  readonly alsoTemporary?: ReadonlySet<string>;
};

/** What -1 stands for. */
const DEFAULT_RETRIES = 3;
/** One try. */
const TRY_MS = 5_000;
/** All tries of a call together with the pauses between them: a login waits for it, whatever max_retries says. */
export const CALL_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Calls a service and repeats the call while that may help.
 *
 * @param request makes the request of each try: a signature is only good for a few minutes.
 * @returns the last answer, whatever it says; or "unavailable" when there is none.
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
 * The pause before the next try in ms, or null when another try would get the same: twice as long each time, a random
 * part of it, so that clients that failed together do not come back together.
 *
 * @param attempt tries before this one.
 * @param random from 0 to 1.
 */
export function pauseBeforeNext(
  sent: Result<SentAnswer, NoAnswer>,
  attempt: number,
  policy: Pick<CallPolicy, "alsoTemporary">,
  random: number,
): number | null {
  const mayHelp = sent.ok ? mayChange(sent.value, policy) : sent.error !== "unreadable" && sent.error !== "not_allowed";
  if (!mayHelp) return null;
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  const asked = (sent.ok ? sent.value.retryAfterSeconds : null) ?? 0;
  return Math.max(Math.ceil(longest * (0.5 + random / 2)), asked * 1000);
}

/** How metrics name what a try came to. */
function resultOf(sent: Result<SentAnswer, NoAnswer>): string {
  if (!sent.ok) return sent.error;
  if (sent.value.status === 200) return "success";
  return isTemporary(sent.value) ? "temporary" : "refused";
}

function mayChange(answer: SentAnswer, { alsoTemporary }: Pick<CallPolicy, "alsoTemporary">): boolean {
  if (isTemporary(answer)) return answer.status !== 501;
  return answer.status !== 200 && alsoTemporary?.has(errorCodeOf(answer) ?? "") === true;
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
