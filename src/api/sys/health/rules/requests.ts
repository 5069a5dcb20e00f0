import type { StorageFaults } from "../../../../base/storage-faults.ts";
import type { HistorySlot } from "../../../../tidy/metrics-history.ts";
import { attention, type Finding, failing, good } from "../finding.ts";
import { remedyOf } from "./objects-and-disk.ts";

/** Share of the requests of a day. More refusals by quotas than that are not the mistake of a single client. */
const MANY_REFUSALS = 0.01;

const requestsOf = (day: readonly HistorySlot[], what: "requests" | "faults" | "unavailable" | "limited") =>
  day.reduce((sum, { traffic }) => sum + traffic[what], 0);

export function judgeFaults(day: readonly HistorySlot[], disk: StorageFaults): Finding {
  const [requests, faults, unavailable] = [
    requestsOf(day, "requests"),
    requestsOf(day, "faults"),
    requestsOf(day, "unavailable"),
  ];
  const last = day.findLast(({ traffic }) => traffic.faults > 0)?.at;
  const seen = `${faults} answers 500 and ${unavailable} answers 503 of about ${requests} in a day`;
  if (faults > 0 && last !== undefined) {
    const at = new Date(last).toISOString().slice(11, 16);
    return failing(`${seen}, the last 500 after ${at} UTC`, FAULT_ADVICE, "docs/runbook.md#requests-end-in-500");
  }
  if (unavailable > 0) {
    const { advice, link } = remedyOf(disk, "See which objects were busy, and when.");
    return attention(seen, advice, link);
  }
  return good(seen);
}

const FAULT_ADVICE = "Each has its error in the log, with the request's id.";

export function judgeQuotas(day: readonly HistorySlot[], healthIsExempt: boolean): Finding {
  const [requests, limited] = [requestsOf(day, "requests"), requestsOf(day, "limited")];
  const seen = `${limited} of about ${requests} requests were refused in a day`;
  const link = "docs/runbook.md#a-quota-refuses-too-much";
  if (!healthIsExempt) {
    const advice = "Exempt sys/health, or a load balancer may be refused.";
    return attention(`${seen}; sys/health is counted`, advice, "docs/operations.md#limits-on-requests");
  }
  if (limited > requests * MANY_REFUSALS) return attention(seen, "See which clients send too much.", link);
  return good(seen);
}
