import { showRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { BEGUN, ENVELOPE } from "../../auth/route-description.ts";
import { formatTime } from "../../base/clock.ts";
import { type Tidy, type TidyRun, tidyOf } from "../../tidy/tidy.ts";
import { tidyReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";

const STATUS_VIEW = view<Awaited<ReturnType<Tidy["status"]>>>({
  state: ["string", ({ running, last }) => (running ? "running" : last ? "finished" : "never run")],
  running: ["any", ({ running }) => running && renderRun(running)],
  last: ["object | null", ({ last }) => last && renderRun(last)],
  background: [
    { shards: "number", checked: "number", since: "string | null", failures: "number" },
    ({ shards }) => ({ ...shards, since: formatTime(shards.since) }),
  ],
});

/** `tidy`, and `tidy-status`, which only this server has. */
export const TIDY_ROUTES: readonly Route[] = [
  simpleRoute("update", "tidy", {
    summary: "Starts a tidy run, which compares all lists with the stored tokens.",
    operationId: "tidy",
    answers: [BEGUN, ENVELOPE],
    handle: async ({ env }) => tidyReply(await tidyOf(env).start()),
  }),

  showRoute("tidy-status", {
    summary: "Shows the state of the tidy run, and the result of the last one.",
    operationId: "tidy-status",
    view: STATUS_VIEW,
    read: ({ env }) => tidyOf(env).status(),
  }),
];

function renderRun({ startedAt, finishedAt, report }: TidyRun): Record<string, unknown> {
  return {
    time_started: formatTime(startedAt),
    time_finished: formatTime(finishedAt),
    accessors_examined: report.accessorsExamined,
    accessors_removed: report.accessorsRemoved,
    custom_ids_examined: report.customIdsExamined,
    custom_ids_removed: report.customIdsRemoved,
    tokens_swept: report.swept,
    tokens_relisted: report.relisted,
    tokens_revoked: report.revoked,
    tokens_orphaned: report.orphaned,
    cubbyhole_entries_removed: report.cubbyholeEntries,
    leases_ended: report.leasesEnded,
    rows_sealed: report.sealed,
    rows_tampered: report.tampered,
    tree_steps: report.treeSteps,
    terms_dropped: report.termsDropped,
    failures: report.failures,
  };
}
