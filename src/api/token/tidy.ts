import * as z from "zod";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { ok } from "../../base/result.ts";
import { tidyOf } from "../../tidy/tidy.ts";
import type { TidyRun } from "../../tidy/tidy-store.ts";
import { tidyReply } from "../../wire/reply.ts";

/** `tidy`, and `tidy-status`, which only this server has. */
export const TIDY_ROUTES: readonly Route[] = [
  simpleRoute("update", "tidy", TO_DESCRIBE, z.object({}), async ({ env }) => ok(tidyReply(await tidyOf(env).start()))),

  simpleRoute("read", "tidy-status", TO_DESCRIBE, z.object({}), async ({ env }) => {
    const { running, last, nextAt } = await tidyOf(env).status();
    return ok({
      kind: "data",
      data: {
        state: running ? "running" : last ? "finished" : "never run",
        running: running && renderRun(running),
        last: last && renderRun(last),
        next_run: time(nextAt),
      },
    });
  }),
];

function renderRun({ startedAt, finishedAt, report }: TidyRun): Record<string, unknown> {
  return {
    time_started: time(startedAt),
    time_finished: time(finishedAt),
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
    failures: report.failures,
  };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
