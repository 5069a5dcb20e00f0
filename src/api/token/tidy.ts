import { showRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { BEGUN, ENVELOPE } from "../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../base/clock.ts";
import { type Tidy, type TidyRun, tidyOf } from "../../tidy/tidy.ts";
import { tidyReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";

const RUN_VIEW = view<TidyRun>({
  time_started: ["string", (run) => formatRfc3339(run.startedAt)],
  time_finished: ["string | null", (run) => formatTime(run.finishedAt)],
  accessors_examined: ["integer", ({ report }) => report.accessorsExamined],
  accessors_removed: ["integer", ({ report }) => report.accessorsRemoved],
  custom_ids_examined: ["integer", ({ report }) => report.customIdsExamined],
  custom_ids_removed: ["integer", ({ report }) => report.customIdsRemoved],
  tokens_swept: ["integer", ({ report }) => report.swept],
  tokens_relisted: ["integer", ({ report }) => report.relisted],
  tokens_revoked: ["integer", ({ report }) => report.revoked],
  // The report of a run of 1.0.0-rc.1 does not have it.
  tokens_revived: ["integer", ({ report }) => report.revived ?? 0],
  tokens_orphaned: ["integer", ({ report }) => report.orphaned],
  cubbyhole_entries_removed: ["integer", ({ report }) => report.cubbyholeEntries],
  leases_ended: ["integer", ({ report }) => report.leasesEnded],
  rows_sealed: ["integer", ({ report }) => report.sealed],
  rows_tampered: ["integer", ({ report }) => report.tampered],
  tree_steps: ["integer", ({ report }) => report.treeSteps],
  terms_dropped: ["integer", ({ report }) => report.termsDropped],
  failures: ["integer", ({ report }) => report.failures],
});

const STATUS_VIEW = view<Awaited<ReturnType<Tidy["status"]>>>({
  state: ["string", ({ running, last }) => (running ? "running" : last ? "finished" : "never run")],
  running: [["or null", RUN_VIEW.shape], ({ running }) => running && RUN_VIEW.show(running)],
  last: [["or null", RUN_VIEW.shape], ({ last }) => last && RUN_VIEW.show(last)],
  background: [
    { shards: "number", checked: "number", since: "string | null", failures: "number", revived: "number" },
    ({ shards }) => ({ ...shards, since: formatTime(shards.since) }),
  ],
});

/** `tidy`, and `tidy-status`, which only this server has. */
export const TIDY_ROUTES: readonly Route[] = [
  simpleRoute("update", "tidy", {
    summary: "Starts a tidy run.",
    operationId: "tidy",
    answers: [BEGUN, ENVELOPE],
    handle: async ({ env }) => tidyReply(await tidyOf(env).start()),
  }),

  showRoute("tidy-status", {
    summary: "Shows the tidy run and the result of the last one.",
    operationId: "tidy-status",
    view: STATUS_VIEW,
    read: ({ env }) => tidyOf(env).status(),
  }),
];
