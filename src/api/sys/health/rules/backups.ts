import type { Ms } from "../../../../base/clock.ts";
import { attention, type Finding, failing, good, spanText, unknown } from "../finding.ts";

const HOUR_MS = 3_600_000;
/** The hourly work is late after this time. */
const LATE_RUN_MS = 3 * HOUR_MS;

interface BackupFacts {
  readonly hasBucket: boolean;
  readonly intervalMs: Ms;
  /** The start of the last complete backup into the bucket, and why the last backup failed. */
  readonly lastGoodAt: Ms | null;
  readonly lastError: string | null;
  /** When a client last sealed a backup that it read over the API. */
  readonly elsewhereAt: Ms | null;
}

export function judgeBackups(facts: BackupFacts, now: Ms): Finding {
  const { hasBucket, intervalMs, lastGoodAt, lastError, elsewhereAt } = facts;
  const link = "docs/runbook.md#backups-are-missing";
  const error = lastError === null ? "" : `; the last one failed: ${lastError}`;
  const newest = Math.max(lastGoodAt ?? Number.NEGATIVE_INFINITY, elsewhereAt ?? Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(newest)) {
    const advice = "The hourly work begins one; start one now, and see why it fails.";
    if (hasBucket) return (error === "" ? attention : failing)(`none yet in the bucket${error}`, advice, link);
    const seen = "none was made into a bucket or over the API; copies of the data directory can't be seen from here";
    return unknown(seen, "Make sure that some are made, and that one was restored as a test.", link);
  }
  const age = spanText(now - newest);
  const seen = `the last good one was begun ${age} ago, one is due every ${spanText(intervalMs)}${error}`;
  if (now - newest > 3 * intervalMs) return failing(seen, "Make one now, and find out why none was made.", link);
  // The hourly trigger may start a backup up to an hour late, and the backup itself takes time.
  if (now - newest > intervalMs + LATE_RUN_MS || error !== "")
    return attention(seen, "See why the last one is late.", link);
  return good(seen);
}
