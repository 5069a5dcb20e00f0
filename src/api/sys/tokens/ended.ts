import { type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { NOT_FOUND, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { EndedFilter, EndedToken } from "../../../listing/inventory/ended-tokens.ts";
import type { RevocationJob } from "../../../listing/inventory/job-record.ts";
import { ALL_ENDED, countEnded, endedInJob, endedWith } from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocation-jobs.ts";
import { NO_TALLY } from "../../../listing/inventory/tally.ts";
import type { Installation } from "../../../system/installation.ts";
import { type AccessorCredential, decodeStoredId } from "../../../token/ids.ts";
import { strictSchema } from "../../../wire/field-schema.ts";
import { pasted, text } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/pagination.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { inner, view } from "../../../wire/view.ts";
import { ACTOR, actorObject, END_VIEW, endOfToken } from "./end-of-token.ts";
import { endedByJob, endedIn, endedPage, readEndedPage } from "./ended-page.ts";
import { AFTER, TOKEN_PAGE } from "./filter-fields.ts";
import { TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";
import { type HeldUnrevoked, UNREVOKED_VIEW, unrevokedLeases } from "./unrevoked-leases.ts";
import { VERIFY_ENDED_ROUTE } from "./verify-ended.ts";

/** The receipt of a job, with a page of the tokens that it ended. `complete` is absent where it was not counted. */
const RECEIPT_VIEW = view<{
  readonly job: RevocationJob;
  readonly complete: boolean | undefined;
  readonly unrevoked: HeldUnrevoked;
  readonly page: { readonly tokens: readonly EndedToken[]; readonly next: string };
}>({
  job: ["string", ({ job }) => job.id],
  state: ["string", ({ job }) => job.state],
  "complete?": ["boolean", ({ complete }) => complete],
  asked_by: [ACTOR, ({ job }) => actorObject(job.selection.asked.by)],
  request_id: ["string", ({ job }) => job.selection.asked.request],
  started: ["string", ({ job }) => formatRfc3339(job.startedAt)],
  finished: ["string | null", ({ job }) => formatTime(job.finishedAt)],
  filter: ["object", ({ job }) => JSON.parse(job.selection.sent)],
  // As in the dry run and in the job: a token that ended with its parent in an earlier step is counted as well.
  numbers: inner({
    matched: ["integer", ({ job }) => job.tally?.matched ?? 0],
    total: ["integer", ({ job }) => job.total],
    // As it was counted before the first token ended.
    leases: [{ count: "integer", more: "boolean" }, ({ job }) => job.tally?.leases ?? NO_TALLY.leases],
    not_ended: ["integer", ({ job }) => job.notEnded.count],
  }),
  not_ended: [[{ accessor: "string", cause: "string" }], ({ job }) => job.notEnded.tokens],
  unrevoked_leases: [UNREVOKED_VIEW.shape, ({ unrevoked }) => UNREVOKED_VIEW.show(unrevoked)],
  accessors: [["string"], ({ page }) => page.tokens.map(({ token }) => token.accessor)],
  next: ["string", ({ page }) => page.next],
});

/** Answers with the record of a token that is not alive. Null: there is none. */
export async function endedTokenReply(
  env: Env,
  address: AccessorCredential,
  installation: Installation,
): Promise<Result<Reply> | null> {
  const ended = await endOfToken(env, address);
  if (!ended) return null;
  const { token, end, isKept } = ended;
  const filter = end.job === "" ? { cause: end.cause, from: end.at, to: end.at } : await endedByJob(env, end.job);
  const others = (await countEnded(env, filter)) - (isKept ? 1 : 0);
  return dataReply({
    token: tokenRenderer(installation)(token),
    ended: END_VIEW.show({ token, end, others: Math.max(0, others) }),
  });
}

/** Records of ended tokens, the receipt of a revocation of many tokens, and the check that tokens are refused. */
export const ENDED_TOKEN_ROUTES: readonly Route[] = [
  tokenRoute("read", "sys/tokens/ended", {
    summary: "Lists tokens that ended, the last first: when, how, by whom.",
    operationId: "inventory-read-ended",
    answers: dataAnswer({
      tokens: [{ token: TOKEN_SHAPE, ended: END_VIEW.shape }],
      next: "string",
      scanned: "integer",
    }),
    input: strictSchema({
      job: text().describe("Only tokens that this job revoked."),
      cause: pasted().describe("Only the token with this accessor and what ended with it."),
      request_id: text().describe("Only tokens that this request ended."),
      ...TOKEN_PAGE,
    }),
    prepare: async ({ fields: { job, cause, request_id: request, after, limit } }) =>
      [job, cause, request].filter((field) => field !== "").length > 1
        ? refuse("send one of job, cause and request_id")
        : readEndedPage(after, limit),
    handle: async ({ env, installation, fields, prepared }) => {
      const filter = await endedOf(env, fields);
      const { tokens, next, scanned } = await endedPage(env, filter, prepared);
      const show = tokenRenderer(installation);
      const shown = tokens.map((ended) => ({ token: show(ended.token), ended: END_VIEW.show(ended) }));
      return dataReply({ tokens: shown, next, scanned });
    },
  }),
  tokenRoute("read", "sys/tokens/jobs/:id/receipt", {
    summary: "Shows who requested a job, and the accessors that it ended.",
    operationId: "inventory-read-receipt",
    parameters: { id: "Id of the job." },
    answers: dataAnswer(RECEIPT_VIEW.shape),
    input: strictSchema({
      after: AFTER,
      limit: PAGE.limit.describe(`Accessors of the page: 1 to ${MAX_NAMED_TOKENS}, which is the default.`),
    }),
    prepare: async ({ fields: { after, limit } }) => readEndedPage(after, limit, MAX_NAMED_TOKENS, MAX_NAMED_TOKENS),
    handle: async ({ env, params, fields, prepared }) => {
      const job = await revocationsOf(env).read(params.id ?? "");
      if (!job || job.dry) return NOT_FOUND;
      const filter = endedInJob(job.id, job);
      const page = await endedPage(env, filter, prepared);
      // Incomplete: the tree of a token has not swept it yet, or its record is no longer kept. All shards count the
      // records for this, so only the first page has it.
      const isComplete = async () => job.finishedAt !== null && (await countEnded(env, filter)) >= job.total;
      const complete = fields.after === "" ? await isComplete() : undefined;
      const places = page.tokens.flatMap(({ token }) => decodeStoredId(token.accessor) ?? []);
      const unrevoked = await unrevokedLeases(env, places);
      return dataReply(RECEIPT_VIEW.show({ job, complete, unrevoked, page }));
    },
  }),
  VERIFY_ENDED_ROUTE,
];

/** Returns the filter for what a request asks about; null when no token can match. */
async function endedOf(
  env: Env,
  asked: { job: string; cause: string; request_id: string },
): Promise<EndedFilter | null> {
  if (asked.job !== "") return endedByJob(env, asked.job);
  if (asked.cause !== "") return endedWith(env, asked.cause);
  return asked.request_id === "" ? ALL_ENDED : endedIn(env, asked.request_id);
}
