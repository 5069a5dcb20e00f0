import { type Caller, originOfCaller } from "../../../auth/caller.ts";
import {
  type Answered,
  type CallContext,
  type PresentedContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
} from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339, formatTime, type Ms } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { timesOverShards } from "../../../listing/accessor-shards.ts";
import { countedSoFar, countStep, countWithinRequest, isCounted } from "../../../listing/inventory/count-selection.ts";
import { judged, type ListedToken } from "../../../listing/inventory/entry.ts";
import { grownBeyond, JOB_STATES, type ListedJob, type RevocationJob } from "../../../listing/inventory/job-record.ts";
import { findInInventory, pageOfInventory } from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocation-jobs.ts";
import { createdUpTo, isRoot, type Selection } from "../../../listing/inventory/selection.ts";
import { GROUPINGS, type GroupTally, type Tally } from "../../../listing/inventory/tally.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import type { Installation } from "../../../system/installation.ts";
import { isEnded } from "../../../system/watermarks.ts";
import { readAccessor, type TokenAddress } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { strictSchema, type Values } from "../../../wire/field-schema.ts";
import { count, flag, list, sent } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { fieldsOf, inner, type Shape, type ViewFields, view } from "../../../wire/view.ts";
import { ACTOR, actorObject } from "./end-of-token.ts";
import { completeFilter, FILTER, type ReadFilter, readFilter } from "./filter-fields.ts";
import { byMountPath, TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";

/** Numbers of what a revocation would end. */
const NUMBERS: ViewFields<Omit<Tally, "by">> = {
  count: ["integer", (tally) => tally.matched],
  total: ["integer", (tally) => tally.total],
  leases: [{ count: "integer", more: "boolean" }, (tally) => tally.leases],
  skipped: inner({ root: ["integer", (tally) => tally.root], self: ["integer", (tally) => tally.self] }),
};
const NUMBERS_VIEW = view(NUMBERS);

const GROUPS: Shape = [{ key: "string", count: "integer" }];

/** The same numbers, also by group, the largest first. */
const TALLY_VIEW = view<{ readonly tally: Tally; readonly installation: Installation }>({
  ...fieldsOf(({ tally }) => tally, NUMBERS),
  by: inner({
    mount: [GROUPS, ({ tally, installation }) => byMountPath(largestFirst(tally.by.mount), installation)],
    // Only service tokens are listed. Batch tokens end with their parents.
    type: [GROUPS, ({ tally: { total } }) => (total > 0 ? [{ key: "service", count: total }] : [])],
    role: [GROUPS, ({ tally }) => largestFirst(tally.by.role)],
    owner: [GROUPS, ({ tally }) => largestFirst(tally.by.owner)],
  }),
  by_other: [
    { mount: "integer", role: "integer", owner: "integer" },
    ({ tally }) => Object.fromEntries(GROUPINGS.map((name) => [name, tally.by[name].other])),
  ],
});

function largestFirst({ named }: GroupTally) {
  return [...named].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).filter(({ count }) => count > 0);
}

const JOB_VIEW = view<ListedJob>({
  id: ["string", (job) => job.id],
  state: [["one of", ...JOB_STATES], (job) => job.state],
  dry_run: ["boolean", (job) => job.dry],
  filter: ["object", (job) => JSON.parse(job.sent)],
  named: ["integer", (job) => job.named],
  asked_by: [ACTOR, ({ asked }) => actorObject(asked.by)],
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
  remaining: [
    "integer | null",
    ({ state, numbers, revoked, gone, mismatched, notEnded }) =>
      state === "running" && numbers
        ? Math.max(0, numbers.matched - (revoked + gone + mismatched + notEnded.count))
        : null,
  ],
  not_ended: ["integer", (job) => job.notEnded.count],
  failures: [["string"], (job) => job.failures],
});

/** What a dry run counted, or the job that counts or revokes. */
const REVOCATION_ANSWERS = [
  dataAnswer({ ...TALLY_VIEW.shape, more: "boolean", sample: [TOKEN_SHAPE] }),
  dataAnswer({ job: "string", state: ["one of", "counting"], counted: "integer" }),
  dataAnswer({ job: "string", state: ["one of", "running"] }),
] as const;

const JOB_SHAPE = { ...JOB_VIEW.shape, "preview?": TALLY_VIEW.shape };

function jobReply(job: RevocationJob | null, installation: Installation): Result<Reply> {
  if (!job) return NOT_FOUND;
  const { tally, selection } = job;
  return dataReply({
    ...JOB_VIEW.show(job),
    filter: JSON.parse(selection.sent),
    ...(tally && { preview: TALLY_VIEW.show({ tally, installation }) }),
  });
}

/** Maximum length of a filter, in characters. Jobs store it, and a list of jobs has a hundred of them. */
const MAX_FILTER = 16_384;
/** Number of tokens that a dry run shows. */
const SAMPLE = 20;
/** Maximum number of steps of a count within one request. A step asks all shards twice, or a few trees. */
const MAX_STEPS = 24;

const FIELDS = strictSchema({
  ...FILTER,
  accessors: list().describe(`Accessors of the tokens, at most ${MAX_NAMED_TOKENS}, instead of a filter.`),
  dry_run: flag(true).describe("True: counts what would be revoked, and changes nothing."),
  expected_count: sent(count()).describe("Count of a dry run: if more match, nothing is revoked."),
  expected_total: sent(count()).describe("Total of a dry run: if more would end, nothing is revoked."),
  include_root: flag(false).describe("True: root tokens too."),
  include_self: flag(false).describe("True: the caller's token and its ancestors too."),
});

/**
 * A null condition is refused here and does not count as absent: it may come from a variable without a value, and more
 * tokens would match without the condition.
 */
const BODY = { ...FIELDS, nullable: new Set([...Object.keys(FILTER), "accessors"]) };

/**
 * Revocation of many tokens, which are counted first. Long counts and revocations are jobs that outlive their request.
 */
export const TOKEN_REVOCATION_ROUTES: readonly Route[] = withParameters({ id: "Id of the job." }, [
  tokenRoute("update", "sys/tokens/revoke", {
    summary: "Revokes the tokens that match a filter, with their descendants.",
    operationId: "inventory-revoke-tokens",
    answers: REVOCATION_ANSWERS,
    input: BODY,
    prepare: readSelected,
    handle: revoke,
  }),
  simpleRoute("read", "sys/tokens/jobs", {
    summary: "Lists the last revocations of many tokens, the newest first.",
    operationId: "inventory-list-jobs",
    answers: dataAnswer({ jobs: [{ ...JOB_VIEW.shape, "preview?": NUMBERS_VIEW.shape }] }),
    handle: async ({ env }) => {
      const jobs = await revocationsOf(env).list();
      const show = (job: ListedJob) => ({
        ...JOB_VIEW.show(job),
        ...(job.numbers && { preview: NUMBERS_VIEW.show(job.numbers) }),
      });
      return dataReply({ jobs: jobs.map(show) });
    },
  }),
  simpleRoute("read", "sys/tokens/jobs/:id", {
    summary: "Shows the progress of a revocation, or the count of a dry run.",
    operationId: "inventory-read-job",
    answers: dataAnswer(JOB_SHAPE),
    handle: async ({ env, installation, params }) =>
      jobReply(await revocationsOf(env).read(params.id ?? ""), installation),
  }),
  simpleRoute("update", "sys/tokens/jobs/:id/stop", {
    summary: "Stops a revocation or a count.",
    operationId: "inventory-stop-job",
    answers: dataAnswer(JOB_SHAPE),
    handle: async ({ env, installation, params }) =>
      jobReply(await revocationsOf(env).stop(params.id ?? ""), installation),
  }),
]);

type RevokeFields = Values<typeof BODY>;

/** What a request selects: the tokens of a filter, or of a list of accessors. One of the two is null. */
interface Selected {
  readonly filter: ReadFilter | null;
  readonly accessors: readonly string[] | null;
}

async function revoke(context: CallContext<RevokeFields, Selected>): Answered {
  const { env, installation, fields, prepared, caller, request } = context;
  const filter = prepared.filter ? await completeFilter(env, prepared.filter) : ok(null);
  if (!filter.ok) return filter;
  const { dry_run: dry, expected_count: expectedCount, expected_total: expectedTotal = null } = fields;
  const now = currentTime();
  await publishRecent(env, now);
  const { accessors } = prepared;
  const sentFields = { ...selectionOf(request.data), ...(accessors && { accessors }) };
  const spare = fields.include_self ? null : addressOf(caller);
  const asked = originOfCaller(caller, request);
  const selection = createdUpTo(
    {
      sent: JSON.stringify(sentFields),
      filter: filter.value,
      accessors,
      includeRoot: fields.include_root,
      spare,
      asked,
    },
    now,
  );
  const steps = Math.min(MAX_STEPS, timesOverShards(2));
  const count = await countWithinRequest((state) => countStep(env, selection, state, now), now, steps);
  const expected = dry ? null : { count: expectedCount ?? null, total: expectedTotal };
  const { matched, total } = count.tally;
  const noted = { dry_run: dry, fields: Object.keys(sentFields), ...(isCounted(count) && { count: matched, total }) };
  request.notes.revocation = noted;
  if (isCounted(count) && !expected) {
    const sample = matched === 0 ? [] : await sampleOf(env, installation, selection, now);
    const tally = TALLY_VIEW.show({ tally: count.tally, installation });
    return dataReply({ ...tally, more: false, sample: sample.map(tokenRenderer(installation)) });
  }
  const grown = isCounted(count) && expected && grownBeyond(expected, count.tally);
  if (grown) {
    return refuse(`${matched} tokens match now, and ${total} would end in all, which is more than ${grown}`);
  }
  const job = await revocationsOf(env).start(selection, count, expected, crypto.randomUUID());
  request.notes.revocation = { ...noted, job };
  return dataReply(
    isCounted(count) ? { job, state: "running" } : { job, state: "counting", counted: countedSoFar(count) },
  );
}

/**
 * Returns the fields that select tokens, as the client sent them. A job stores and shows them, so only fields with
 * known names are kept: a token that was sent by mistake must not be among them.
 */
function selectionOf(sentFields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = [...Object.keys(FILTER), "accessors", "include_root", "include_self"];
  return Object.fromEntries(Object.entries(sentFields).filter(([name]) => kept.includes(name)));
}

async function readSelected(context: PresentedContext<RevokeFields>): Promise<Result<Selected>> {
  const { installation, fields, request } = context;
  // A script whose variable has no value sends an empty text. Without that condition more tokens would match.
  const empty = Object.keys(FILTER).find((name) => isEmpty(name, request.data[name]));
  if (empty) return refuse(`${empty} is empty: omit it or set a value`);
  const { accessors: _, ...words } = selectionOf(request.data);
  if (JSON.stringify(words).length > MAX_FILTER) return refuse(`a filter has at most ${MAX_FILTER} characters`);
  const filter = await readFilter(context);
  if (!filter.ok) return filter;
  const hasFilter = Object.values(filter.value).some((value) => value !== undefined && value !== "");
  const accessors = [...new Set(fields.accessors)];
  // An empty list beside a filter is refused as well: it may come from a script that found no token.
  if (hasFilter === (request.data.accessors !== undefined)) return refuse("send either a filter or accessors");
  const isCounted = fields.dry_run || fields.expected_count !== undefined;
  if (!isCounted) return refuse("expected_count is required: the count of a dry run");
  if (hasFilter) return ok({ filter: filter.value, accessors: null });
  if (accessors.length === 0) return refuse("accessors is empty");
  if (accessors.length > MAX_NAMED_TOKENS) return refuse(`accessors has more than ${MAX_NAMED_TOKENS} items`);
  const read = await Promise.all(accessors.map((accessor) => readAccessor(installation.keys, accessor)));
  if (read.includes(null)) return refuse("accessors has an item that is not an accessor");
  return ok({ filter: null, accessors });
}

/** True for a value that every token matches. */
function isEmpty(name: string, value: unknown): boolean {
  const text = typeof value === "string" ? value.trim() : value;
  return text === "" || (name === "display_name" && text === "*");
}

/** Returns some of the selected tokens, without those that a watermark has ended but that are still listed. */
async function sampleOf(env: Env, { watermarks }: Installation, selection: Selection, now: Ms): Promise<ListedToken[]> {
  const { filter, accessors, includeRoot, spare } = selection;
  const kept: string[] = spare ? await treeAt(env, spare.treeId).accessorsFrom(spare.row) : [];
  const order = { by: "created", descending: false } as const;
  const tokens = filter
    ? (await pageOfInventory(env, { filter, order, after: null, limit: 2 * SAMPLE, now })).tokens
    : [...(await findInInventory(env, accessors ?? [])).values()];
  const alive = tokens.filter((token) => !isEnded(watermarks, "all", judged(token)));
  return alive.filter((token) => (includeRoot || !isRoot(token)) && !kept.includes(token.accessor)).slice(0, SAMPLE);
}

/** Returns the address of the token with which the caller ends; null for a caller that is in no tree. */
function addressOf(caller: Caller): TokenAddress | null {
  if (caller.kind === "registered") return null;
  const ending = caller.kind === "service" ? caller.token : caller.token.parent;
  return ending && { treeId: ending.treeId, row: ending.row };
}
