import { readRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute, withParameters } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { ListedJob, RevocationJob } from "../../../listing/inventory/revocation-job.ts";
import { revocationsOf } from "../../../listing/inventory/revocations.ts";
import { GROUPINGS, type Groups, type Tally } from "../../../listing/inventory/tally.ts";
import type { Installation } from "../../../system/installation.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import type { Shape } from "../../../wire/shape.ts";
import { fieldsOf, inner, type ViewFields, view } from "../../../wire/view.ts";
import { askerObject } from "./ended.ts";
import { byMountPath, type MountName, mountNames } from "./token-view.ts";

type Numbers = Omit<Tally, "by">;

const NUMBERS: ViewFields<Numbers> = {
  count: ["integer", (tally) => tally.matched],
  total: ["integer", (tally) => tally.total],
  leases: [{ count: "integer", more: "boolean" }, (tally) => tally.leases],
  skipped: inner({ root: ["integer", (tally) => tally.root], self: ["integer", (tally) => tally.self] }),
};

/** What a revocation would end, without its groups. */
const NUMBERS_VIEW = view(NUMBERS);

/** What a revocation would end, with the names of mounts. */
interface ShownTally {
  readonly tally: Tally;
  readonly mounts: ReadonlyMap<string, MountName>;
}

const GROUPS: Shape = [{ key: "string", count: "integer" }];

/** What a revocation would end, as answers show it: the greatest groups first. */
export const TALLY_VIEW = view<ShownTally>({
  ...fieldsOf(({ tally }) => tally, NUMBERS),
  by: inner({
    mount: [GROUPS, ({ tally, mounts }) => byMountPath(greatestFirst(tally.by.mount), mounts)],
    // Tokens of other types have no place in a list, and end with the token that they hang on.
    type: [GROUPS, ({ tally: { total } }) => (total > 0 ? [{ key: "service", count: total }] : [])],
    role: [GROUPS, ({ tally }) => greatestFirst(tally.by.role)],
    owner: [GROUPS, ({ tally }) => greatestFirst(tally.by.owner)],
  }),
  by_other: [
    { mount: "integer", role: "integer", owner: "integer" },
    ({ tally }) => Object.fromEntries(GROUPINGS.map((name) => [name, tally.by[name].other])),
  ],
});

function greatestFirst({ named }: Groups) {
  return [...named].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).filter(({ count }) => count > 0);
}

const JOB: ViewFields<ListedJob> = {
  id: ["string", (job) => job.id],
  state: ["string", (job) => job.state],
  dry_run: ["boolean", (job) => job.dry],
  filter: ["object", (job) => JSON.parse(job.sent)],
  named: ["integer", (job) => job.named],
  asked_by: ["object | null", ({ asked }) => asked.by && askerObject(asked.by)],
  request_id: ["string", ({ asked }) => asked.request],
  started: ["string", (job) => formatRfc3339(job.startedAt)],
  finished: ["string | null", (job) => formatTime(job.finishedAt)],
  expected: ["integer | null", (job) => job.expected.count],
  expected_total: ["integer | null", (job) => job.expected.total],
  counted: ["integer", (job) => job.counted],
  matched: ["integer | null", (job) => job.numbers?.matched ?? null],
  total: ["integer", (job) => job.total],
  revoked: ["integer", (job) => job.revoked],
  ended_before: ["integer", (job) => job.gone],
  spared: ["integer", (job) => job.spared],
  mismatched: ["integer", (job) => job.mismatched],
  remaining: ["integer | null", remainingOf],
  failures: [["string"], (job) => job.failures],
};

const LISTED_JOB_VIEW = view<ListedJob>({
  ...JOB,
  "preview?": [NUMBERS_VIEW.shape, ({ numbers }) => (numbers ? NUMBERS_VIEW.show(numbers) : undefined)],
});

const JOB_VIEW = view<{ readonly job: RevocationJob; readonly mounts: ReadonlyMap<string, MountName> }>({
  ...fieldsOf(({ job }) => job, JOB),
  filter: ["object", ({ job }) => JSON.parse(job.selection.sent)],
  "preview?": [
    TALLY_VIEW.shape,
    ({ job: { tally }, mounts }) => (tally ? TALLY_VIEW.show({ tally, mounts }) : undefined),
  ],
});

/** `sys/tokens/jobs`: counts and revocations that go on after their request. */
export const TOKEN_JOB_ROUTES: readonly Route[] = withParameters({ id: "Id of the job." }, [
  readRoute("sys/tokens/jobs", {
    summary: "The last revocations by filter, the newest first.",
    operationId: "inventory-list-jobs",
    answers: dataAnswer({ jobs: [LISTED_JOB_VIEW.shape] }),
    handle: async ({ env }) => {
      const jobs = await revocationsOf(env).list();
      return ok(dataReply({ jobs: jobs.map(LISTED_JOB_VIEW.show) }));
    },
  }),
  readRoute("sys/tokens/jobs/:id", {
    summary: "How far a revocation is, or the count of a dry run.",
    operationId: "inventory-read-job",
    answers: dataAnswer(JOB_VIEW.shape),
    handle: async ({ env, installation, params }) =>
      jobReply(await revocationsOf(env).read(params.id ?? ""), installation),
  }),
  simpleRoute("update", "sys/tokens/jobs/:id/stop", {
    summary: "Stops a revocation or a count. What is revoked stays so.",
    operationId: "inventory-stop-job",
    answers: dataAnswer(JOB_VIEW.shape),
    input: NO_FIELDS,
    handle: async ({ env, installation, params }) =>
      jobReply(await revocationsOf(env).stop(params.id ?? ""), installation),
  }),
]);

function jobReply(job: RevocationJob | null, installation: Installation): Result<Reply> {
  if (!job) return err({ code: "not_found" });
  return ok(dataReply(JOB_VIEW.show({ job, mounts: mountNames(installation) })));
}

function remainingOf({ state, numbers, revoked, gone, mismatched }: ListedJob): number | null {
  return state === "running" && numbers ? Math.max(0, numbers.matched - (revoked + gone + mismatched)) : null;
}
