import { type Route, simpleRoute } from "../../../auth/route.ts";
import { type Answer, dataAnswer } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { ListedJob, RevocationJob } from "../../../listing/inventory/revocation-job.ts";
import { revocationsOf } from "../../../listing/inventory/revocations.ts";
import type { Installation } from "../../../system/installation.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { askerObject } from "./ended.ts";
import { NUMBERS_SHAPE, numbersObject, TALLY_SHAPE, tallyObject } from "./tally-view.ts";
import { mountNames } from "./token-view.ts";

const PARTS = {
  id: "string",
  state: "string",
  dry_run: "boolean",
  filter: "object",
  named: "integer",
  asked_by: "object | null",
  request_id: "string",
  started: "string",
  finished: "string | null",
  expected: "integer | null",
  expected_total: "integer | null",
  counted: "integer",
  matched: "integer | null",
  total: "integer",
  revoked: "integer",
  ended_before: "integer",
  spared: "integer",
  mismatched: "integer",
  remaining: "integer | null",
  failures: ["string"],
} as const;
const JOB: Answer = dataAnswer({ ...PARTS, "preview?": TALLY_SHAPE });
const PARAMETERS = { id: "Id of the job." };

/** `sys/tokens/jobs`: counts and revocations that go on after their request. */
export const TOKEN_JOB_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "sys/tokens/jobs",
    {
      summary: "The last revocations by filter, the newest first.",
      operationId: "inventory-list-jobs",
      answers: dataAnswer({ jobs: [{ ...PARTS, "preview?": NUMBERS_SHAPE }] }),
    },
    NO_FIELDS,
    async ({ env }) => {
      const jobs = await revocationsOf(env).list();
      return ok(dataReply({ jobs: jobs.map(listedJobObject) }));
    },
  ),
  simpleRoute(
    "read",
    "sys/tokens/jobs/:id",
    {
      summary: "How far a revocation is, or the count of a dry run.",
      operationId: "inventory-read-job",
      parameters: PARAMETERS,
      answers: JOB,
    },
    NO_FIELDS,
    async ({ env, installation, params }) => jobReply(await revocationsOf(env).read(params.id ?? ""), installation),
  ),
  simpleRoute(
    "update",
    "sys/tokens/jobs/:id/stop",
    {
      summary: "Stops a revocation or a count. What is revoked stays so.",
      operationId: "inventory-stop-job",
      parameters: PARAMETERS,
      answers: JOB,
    },
    NO_FIELDS,
    async ({ env, installation, params }) => jobReply(await revocationsOf(env).stop(params.id ?? ""), installation),
  ),
];

function jobReply(job: RevocationJob | null, installation: Installation): Result<Reply, Failure> {
  return job ? ok(dataReply(jobObject(job, installation))) : err({ code: "not_found" });
}

function jobObject(job: RevocationJob, installation: Installation): Record<string, unknown> {
  const { tally, selection } = job;
  const preview = tally && tallyObject(tally, mountNames(installation));
  return { ...partsOf(job), filter: JSON.parse(selection.sent), ...(preview && { preview }) };
}

function listedJobObject(job: ListedJob): Record<string, unknown> {
  return { ...partsOf(job), ...(job.numbers && { preview: numbersObject(job.numbers) }) };
}

function partsOf(job: ListedJob) {
  const { numbers, expected } = job;
  const met = job.revoked + job.gone + job.mismatched;
  return {
    id: job.id,
    state: job.state,
    dry_run: job.dry,
    filter: JSON.parse(job.sent),
    named: job.named,
    asked_by: job.asked.by && askerObject(job.asked.by),
    request_id: job.asked.request,
    started: formatRfc3339(job.startedAt),
    finished: job.finishedAt === null ? null : formatRfc3339(job.finishedAt),
    expected: expected.count,
    expected_total: expected.total,
    counted: job.counted,
    matched: numbers?.matched ?? null,
    total: job.total,
    revoked: job.revoked,
    ended_before: job.gone,
    spared: job.spared,
    mismatched: job.mismatched,
    remaining: job.state === "running" && numbers ? Math.max(0, numbers.matched - met) : null,
    failures: job.failures,
  };
}
