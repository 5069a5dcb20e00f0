import type { Ms } from "../../../../base/clock.ts";
import type { OldData } from "../../../../base/storage-faults.ts";
import type { PutBack } from "../../../../tidy/system-rollback.ts";
import { attention, type Finding, failing, good, spanText, unknown } from "../finding.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface StorageFacts {
  /** Live tokens that had ended, by the last checks of the lists. */
  readonly revived: number;
  /** When the oldest of the last checks began; null: a shard was never checked. */
  readonly since: Ms | null;
  /** When the System object was found in an earlier state, the oldest first. */
  readonly system: readonly PutBack[];
  /** Data that may be a restored backup, on which the server has started. */
  readonly old: OldData | null;
  /** True when all tokens were revoked, as after a restore, since the old data were last served. */
  readonly isRevokedSince: boolean;
}

/** A finding about the System object is urgent for this long: what it shows is over, and may have been on purpose. */
const URGENT_MS = 7 * DAY_MS;

/** Judges whether objects were put back to an earlier state, as far as other objects know their later state. */
export function judgeStorage({ revived, since, system, old, isRevokedSince }: StorageFacts, now: Ms): Finding {
  const link = "docs/runbook.md#storage-was-put-back";
  const last = system.at(-1);
  if (revived > 0) {
    const trees = `${revived} tokens that had ended are alive again: their trees were put back to an earlier state`;
    const seen = last ? `${trees}; ${systemSeen(last)}` : trees;
    return failing(seen, 'Revoke them again: lines of type "revived tokens" in the log have their accessors.', link);
  }
  if (last) {
    const judge = now - last.at < URGENT_MS ? failing : attention;
    return judge(systemSeen(last), "Unless that was on purpose: find out who did it, and what changed since.", link);
  }
  if (old && !isRevokedSince) {
    const what = old.isCopy ? "are a copy" : "were not in use for a while";
    return attention(
      `the data ${what}, last served ${spanText(now - old.servedAt)} ago: if that is a backup, what was revoked since is good again`,
      "After a restore, revoke what was issued before it, if that was not done yet.",
      "docs/runbook.md#restore",
    );
  }
  if (since === null) return unknown("the lists were not compared yet", "It happens once an hour.", "docs/storage.md");
  return good("nothing is known to have been put back");
}

function systemSeen({ at, from }: PutBack): string {
  const found = `${new Date(at).toISOString().slice(0, 16)}Z`;
  if (from === null) return `at ${found} the mark of the System object had been written without the keys`;
  return (
    `at ${found} the System object was found put back to an earlier state: policies, mounts, quotas and ` +
    "watermarks of that time are in force again"
  );
}
