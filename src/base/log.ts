import { currentTime, isWithin, type Ms } from "./clock.ts";
import { isLostCall } from "./platform-errors.ts";

/**
 * Logs a line about the normal work of the service, unless `LOG_LEVEL` is `error`. Faults and the audit log do not use
 * this function and are always written. The line must hold nothing secret.
 */
export function logInfo({ LOG_LEVEL }: { readonly LOG_LEVEL?: string }, line: Readonly<Record<string, unknown>>): void {
  if (LOG_LEVEL !== "error") console.log(JSON.stringify(line));
}

/** Interval between two lines about lost calls of one type. */
const LOST_CALLS_LOG_MS: Ms = 10_000;
const lostCallLoggedAt = new Map<string, Ms>();

/**
 * Logs that background work failed and will be retried. While an object can't be reached, all work that needs it fails
 * at every retry, so for lost calls an isolate logs at most one line of each type in ten seconds.
 */
export function logFailedWork(type: "list of accessors" | "sweep", error: unknown): void {
  if (isLostCall(error)) {
    const now = currentTime();
    if (isWithin(lostCallLoggedAt.get(type) ?? Number.NEGATIVE_INFINITY, LOST_CALLS_LOG_MS, now)) return;
    lostCallLoggedAt.set(type, now);
  }
  console.error(JSON.stringify({ type, error: String(error) }));
}
