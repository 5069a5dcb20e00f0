import type { Ms } from "../../../../base/clock.ts";
import type { SeenNode } from "../../../../tidy/metrics-history.ts";
import { attention, type Finding, failing, good, spanText, unknown } from "../finding.ts";

const MAX_CLOCK_SKEW_MS = 30_000;
/** A node that has been silent for this long is missed: it reports itself once a minute. */
const SILENT_MS = 180_000;

/** @param releases of the Worker that answered, and of the objects and nodes. */
export function judgeReleases(release: string, releases: readonly string[]): Finding {
  const others = [...new Set(releases)].filter((one) => one !== release);
  if (others.length === 0) return good(release);
  return attention(
    `${release} answered, and ${others.join(", ")} runs too`,
    "Normal while a release is rolled out. If it stays, an instance was not restarted.",
    "docs/upgrading.md",
  );
}

/** @param clientTime null: the client did not say its time. */
export function judgeClock(now: Ms, clientTime: Ms | null): Finding {
  if (clientTime === null) return unknown("the client did not say its time", "Send client_time.", "docs/operations.md");
  const skew = now - clientTime;
  if (Math.abs(skew) <= MAX_CLOCK_SKEW_MS) return good("as that of the client");
  return attention(
    `${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} that of the client`,
    "Synchronise both with NTP: signed logins and the ends of tokens need the right time.",
    "docs/runbook.md#a-clock-is-wrong",
  );
}

export function judgeNodes(nodes: readonly SeenNode[], now: Ms): Finding {
  const silent = nodes.filter(({ seenAt }) => now - seenAt > SILENT_MS);
  const up = nodes.length - silent.length;
  const link = "docs/runbook.md#a-node-of-a-cluster-is-not-ready";
  if (nodes.length === 0) return unknown("no node has reported yet", "Wait two minutes and check again.", link);
  if (silent.length > 0) {
    const names = silent.map(({ name, seenAt }) => `${name} (silent for ${spanText(now - seenAt)})`).join(", ");
    return failing(`${up} up; missing: ${names}`, "Look at the node's log and its GET /ready.", link);
  }
  const names = nodes.map(({ name }) => name).join(", ");
  if (up < 3) return attention(`${up} up: ${names}`, "Run three, so that one may be lost.", "docs/cluster.md");
  return good(`${up} up: ${names}`);
}
