import { currentTime, isWithin, type Ms } from "../../../base/clock.ts";
import type { Env } from "../../../env.ts";
import { NO_TRAFFIC, type Traffic, trafficSince, trafficSoFar } from "../../../metrics/traffic.ts";
import { tidyOf } from "../../../tidy/tidy.ts";
import { lastLiveCounts } from "../metrics.ts";

/** Interval between two reports of an isolate. */
const REPORT_MS: Ms = 60_000;

let reportedAt: Ms = Number.NEGATIVE_INFINITY;
let reported: Traffic = NO_TRAFFIC;

/**
 * Reports what this isolate has counted to the history, once a minute while it answers requests; `null` in between. A
 * request costs a comparison. What an isolate counts after its last report is lost when it ends. A failure fails no
 * request: its counts are sent with the next report.
 */
export function reportHistory(env: Env): Promise<unknown> | null {
  const now = currentTime();
  return isWithin(reportedAt, REPORT_MS, now) ? null : sendHistory(env, now);
}

/** Leaves what this isolate has answered so far out of the history: without an installation every answer is a refusal. */
export function skipHistory(): void {
  reported = trafficSoFar();
}

/**
 * Reports what this isolate has counted until now, for a reader of the history that must not miss the last minute.
 *
 * @returns what the history could not store, as on a full disk.
 */
export async function sendHistory(env: Env, now: Ms): Promise<Traffic> {
  // The counts get the time of the last report, at most one interval ago. After an idle time they are older than that.
  const at = Number.isFinite(reportedAt) && reportedAt <= now ? Math.max(reportedAt, now - REPORT_MS) : now;
  const before = reported;
  const counted = trafficSoFar();
  reportedAt = now;
  reported = counted;
  try {
    await tidyOf(env).keepHistory(at, trafficSince(counted, before), lastLiveCounts(now));
    return NO_TRAFFIC;
  } catch (error) {
    // The object may have added them: counting twice is better than a fault that no one sees.
    const unsent = trafficSince(counted, before);
    reported = trafficSince(reported, unsent);
    console.error(JSON.stringify({ type: "history", error: String(error) }));
    return unsent;
  }
}
