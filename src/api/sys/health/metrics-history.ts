import { showRoute } from "../../../auth/record-routes.ts";
import { formatRfc3339 } from "../../../base/clock.ts";
import { BUCKETS } from "../../../metrics/counters.ts";
import { SLOT_MS } from "../../../metrics/traffic.ts";
import type { HistorySlot } from "../../../tidy/metrics-history.ts";
import { tidyOf } from "../../../tidy/tidy.ts";
import { view } from "../../../wire/view.ts";

const SLOT_VIEW = view<HistorySlot>({
  time: ["string", ({ at }) => formatRfc3339(at)],
  requests: ["integer", ({ traffic }) => traffic.requests],
  failures: ["integer", ({ traffic }) => traffic.faults],
  unavailable: ["integer", ({ traffic }) => traffic.unavailable],
  limited: ["integer", ({ traffic }) => traffic.limited],
  logins_success: ["integer", ({ traffic }) => traffic.loginsGood],
  logins_refused: ["integer", ({ traffic }) => traffic.loginsRefused],
  logins_failed: ["integer", ({ traffic }) => traffic.loginsFailed],
  tokens_swept: ["integer", ({ traffic }) => traffic.swept],
  within: [["integer"], ({ traffic }) => traffic.within],
  tokens: ["integer | null", ({ live }) => live?.tokens ?? null],
  leases: ["integer | null", ({ live }) => live?.leases ?? null],
});

/** Metrics of the last day, in slots of five minutes. */
export const HISTORY_ROUTE = showRoute("sys/metrics/history", {
  summary: "Shows the last day in steps of five minutes.",
  operationId: "metrics-history",
  view: view<readonly HistorySlot[]>({
    interval_seconds: ["integer", () => SLOT_MS / 1000],
    bounds: [["number"], () => BUCKETS],
    samples: [[SLOT_VIEW.shape], (slots) => slots.map(SLOT_VIEW.show)],
  }),
  read: async ({ env }) => (await tidyOf(env).history()).slots,
});
