import type { Ms } from "../../../../base/clock.ts";
import { attention, type Finding, failing, good, spanText, unknown } from "../finding.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The hourly work is late after this time. */
const LATE_RUN_MS = 3 * HOUR_MS;

interface TidyFacts {
  readonly lastAt: Ms | null;
  readonly failures: number;
  readonly tampered: number;
}

export function judgeTidy({ lastAt, failures, tampered }: TidyFacts, now: Ms): Finding {
  const link = "docs/runbook.md#tidy-is-stuck";
  const ran = lastAt === null ? "no run has ended yet" : `the last run ended ${spanText(now - lastAt)} ago`;
  if (tampered > 0) {
    const advice = "Somebody wrote to the storage without the keys: find out who.";
    return failing(`${ran}; ${tampered} rows were tampered with`, advice, "docs/threat-model.md");
  }
  if (lastAt === null) return unknown(ran, "It begins once an hour; check again then.", link);
  if (now - lastAt > LATE_RUN_MS) return attention(ran, "See whether the hourly trigger comes.", link);
  if (failures > 0) return attention(`${ran}; ${failures} trees did not answer`, "The next run asks them again.", link);
  return good(ran);
}

interface ListFacts {
  readonly checked: number;
  readonly shards: number;
  /** When the oldest of the last checks began; null: a shard was never checked. */
  readonly since: Ms | null;
  readonly failures: number;
}

/** Lists hear of changes within seconds; what they lost is found by the check of each shard. */
export function judgeLists({ checked, shards, since, failures }: ListFacts, now: Ms): Finding {
  const link = "docs/runbook.md#tidy-is-stuck";
  if (since === null) {
    const seen = `${checked} of ${shards} shards were compared with their trees`;
    return unknown(seen, "Each is compared once an hour; check again then.", link);
  }
  const seen = `all ${shards} shards were compared with their trees in the last ${spanText(now - since)}`;
  if (failures > 0)
    return attention(`${seen}; ${failures} trees did not answer`, "The next check asks them again.", link);
  if (now - since > DAY_MS) return attention(seen, "Normal with very many tokens; else see the log.", link);
  return good(seen);
}
