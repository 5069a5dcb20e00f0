import { type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { inGroups } from "../../../base/parallel.ts";
import { unlessStorageFails } from "../../../base/platform-errors.ts";
import { NOT_FOUND, okUnless, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import {
  type CountedFilter,
  type EndedFilter,
  type EndedToken,
  LAST_FIRST,
} from "../../../listing/inventory/ended-tokens.ts";
import type { RevocationJob } from "../../../listing/inventory/job-record.ts";
import { cursorText, type OrderPosition, readCursor } from "../../../listing/inventory/page-cursor.ts";
import {
  ALL_ENDED,
  countEnded,
  endedByRequest,
  endedInJob,
  endedWith,
  findEnded,
  pageOfEnded,
} from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocation-jobs.ts";
import { NO_TALLY } from "../../../listing/inventory/tally.ts";
import type { Installation } from "../../../system/installation.ts";
import type { Actor } from "../../../system/revocation-origin.ts";
import { systemOf } from "../../../system/system.ts";
import { type AccessorCredential, decodeStoredId, readAccessor, routedIdText } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { strictSchema } from "../../../wire/field-schema.ts";
import { list, pasted, text } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/pagination.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { inner, type Shape, view } from "../../../wire/view.ts";
import { AFTER, readLimit, TOKEN_PAGE } from "./filter-fields.ts";
import { TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";
import { type HeldUnrevoked, UNREVOKED_VIEW, unrevokedLeases, verifyLeases } from "./unrevoked-leases.ts";

/** Maximum number of leases that a request names. Each is a call to its tree. */
const MAX_NAMED_LEASES = 100;

/** The token that made a request. Null: no token made it, or it is not known. */
export const ACTOR: Shape = ["or null", { accessor: "string", display_name: "string", entity_id: "string" }];

/** The end of a token. `others` is the number of tokens that ended with it; absent where it was not counted. */
export const END_VIEW = view<Pick<EndedToken, "end" | "token"> & { readonly others?: number }>({
  at: ["string", ({ end }) => formatRfc3339(end.at)],
  how: [
    "string",
    ({ token, end }) =>
      end.cause === token.accessor ? end.how : `${end.how === "revoked" ? "revoked" : "ended"} with its parent`,
  ],
  by: [ACTOR, ({ end }) => actorObject(end.by)],
  cause: ["string", ({ end }) => end.cause],
  request_id: ["string", ({ end }) => end.request],
  request_path: ["string", ({ end }) => end.path ?? ""],
  job: ["string", ({ end }) => end.job],
  "with?": ["integer", ({ others }) => others],
});

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

/** The leases of the tokens of a job; see `leasesOfJob`. */
const JOB_LEASES_SHAPE = { asked: "integer", more: "boolean", ended: "integer | null" } as const;

/**
 * Returns how many leases a job was to end, as counted before, and how many of them their targets have accepted; null
 * when that is not known: not all tokens that were counted were found ended, or not all leases were counted.
 *
 * @param ended number of tokens of the job that their trees refuse.
 */
function leasesOfJob({ tally }: RevocationJob, { waiting, failing, more }: HeldUnrevoked, ended: number) {
  const { leases: asked, total } = tally ?? NO_TALLY;
  const isKnown = tally !== null && ended >= total && !asked.more && !more;
  return { asked: asked.count, more: asked.more, ended: isKnown ? Math.max(0, asked.count - waiting - failing) : null };
}

/** The value of an `ACTOR`. */
export function actorObject(actor: Actor | null): Record<string, string> | null {
  return actor && { accessor: actor.accessor, display_name: actor.displayName, entity_id: actor.entityId };
}

/**
 * Finds the record of a token that is not alive: the list stores it (`isKept`), or its tree until the sweep deletes the
 * token. Null: there is none.
 */
export async function endOfToken(
  env: Env,
  { treeId, row, tail }: AccessorCredential,
): Promise<(Pick<EndedToken, "token" | "end"> & { readonly isKept: boolean }) | null> {
  const inList = async () => {
    const kept = await findEnded(env, routedIdText(treeId, row, tail));
    return kept && { ...kept, isKept: true };
  };
  const kept = await inList();
  if (kept) return kept;
  const inTree = await treeAt(env, treeId).unsweptEnd({ by: "accessor", row, tail });
  if (inTree?.entry) return { token: { ...inTree.entry, id: row }, end: inTree.end, isKept: false };
  // A sweep may have moved the record to the list meanwhile.
  return inList();
}

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
        : readPage(after, limit),
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
    prepare: async ({ fields: { after, limit } }) => readPage(after, limit, MAX_NAMED_TOKENS, MAX_NAMED_TOKENS),
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
  tokenRoute("update", "sys/tokens/verify-ended", {
    summary: "Asks the trees whether tokens are refused and their leases revoked.",
    operationId: "inventory-verify-ended",
    answers: dataAnswer({
      checked: "integer",
      ended: "integer",
      unknown: "integer",
      alive: ["string"],
      unanswered: ["string"],
      unrevoked_leases: UNREVOKED_VIEW.shape,
      "leases?": JOB_LEASES_SHAPE,
      next: "string",
    }),
    input: strictSchema({
      accessors: list().describe(`Accessors of the tokens, at most ${MAX_NAMED_TOKENS}.`),
      lease_ids: list().describe(`In place of accessors: ids of leases, at most ${MAX_NAMED_LEASES}.`),
      job: text().describe(`In place of accessors: all tokens that this job ended, ${MAX_NAMED_TOKENS} at a time.`),
      request_id: text().describe(
        `In place of accessors: those that this request ended, ${MAX_NAMED_TOKENS} at a time.`,
      ),
      after: AFTER,
    }),
    prepare: async ({ fields: { job, request_id: request, after, accessors, lease_ids: leases } }) => {
      const given = [job !== "", request !== "", accessors.length > 0, leases.length > 0].filter(Boolean).length;
      if (given !== 1) return refuse("send one of accessors, lease_ids, job and request_id");
      if (leases.length > MAX_NAMED_LEASES) return refuse(`lease_ids has more than ${MAX_NAMED_LEASES} items`);
      const { size } = new Set(accessors);
      if (size > MAX_NAMED_TOKENS) return refuse(`accessors has more than ${MAX_NAMED_TOKENS} items`);
      return readPage(after, 0, MAX_NAMED_TOKENS, MAX_NAMED_TOKENS);
    },
    handle: async ({ env, installation, fields, prepared }) => {
      const { job, request_id: request, lease_ids: leases } = fields;
      if (leases.length > 0) return dataReply(await verifyLeases(env, installation, [...new Set(leases)]));
      let accessors = [...new Set(fields.accessors)];
      let next = "";
      const run = job === "" ? null : await revocationsOf(env).read(job);
      if (accessors.length === 0) {
        const filter = job === "" ? await endedIn(env, request) : endedInJob(job, run);
        const page = await endedPage(env, filter, prepared);
        accessors = page.tokens.map(({ token }) => token.accessor);
        // Whether those that a job could not end can be used is the question that matters most.
        if (run && fields.after === "") accessors.push(...run.notEnded.tokens.map(({ accessor }) => accessor));
        next = page.next;
        const isKnown = job === "" ? fields.after !== "" || next !== "" : run !== null;
        // For an unknown job or request, an answer without tokens would look like a proof that its tokens are refused.
        if (accessors.length === 0 && !isKnown) return NOT_FOUND;
      }
      const read = await Promise.all(accessors.map((accessor) => readAccessor(installation.keys, accessor)));
      const places = read.flatMap((place) => place ?? []);
      const unanswered: AccessorCredential[] = [];
      const answers = await inGroups([...Map.groupBy(places, ({ treeId }) => treeId)], async ([treeId, inTree]) => {
        const rows = await unlessStorageFails(
          treeAt(env, treeId).aliveOf(inTree.map(({ row, tail }) => ({ row, tail }))),
        );
        if (rows === null) unanswered.push(...inTree);
        return inTree.filter(({ row }) => rows?.includes(row)).map(textOf);
      });
      const alive = answers.flat();
      const unknown = accessors.length - places.length;
      const unrevoked = await unrevokedLeases(env, places);
      const ended = places.length - alive.length - unanswered.length;
      const isWhole = fields.after === "" && next === "" && ended === accessors.length;
      return dataReply({
        checked: accessors.length,
        ended,
        unknown,
        alive,
        unanswered: unanswered.map(textOf),
        unrevoked_leases: UNREVOKED_VIEW.show(unrevoked),
        ...(run && { leases: leasesOfJob(run, unrevoked, isWhole ? ended : 0) }),
        next,
      });
    },
  }),
];

function textOf({ treeId, row, tail }: AccessorCredential): string {
  return routedIdText(treeId, row, tail);
}

/** Returns the filter for what a request asks about; null when no token can match. */
async function endedOf(
  env: Env,
  asked: { job: string; cause: string; request_id: string },
): Promise<EndedFilter | null> {
  if (asked.job !== "") return endedByJob(env, asked.job);
  if (asked.cause !== "") return endedWith(env, asked.cause);
  return asked.request_id === "" ? ALL_ENDED : endedIn(env, asked.request_id);
}

/** Returns the filter for the tokens that a request ended: few records are read when its watermark is kept. */
async function endedIn(env: Env, request: string): Promise<EndedFilter> {
  const marks = (await systemOf(env).watermarks()).filter(({ asked }) => asked.request === request);
  return endedByRequest(request, marks.length === 0 ? null : Math.min(...marks.map(({ madeAt }) => madeAt)));
}

async function endedByJob(env: Env, job: string): Promise<CountedFilter> {
  return endedInJob(job, await revocationsOf(env).read(job));
}

interface EndedPage {
  /** null: from the first. */
  readonly after: OrderPosition | null;
  readonly limit: number;
}

/** Reads where a page begins ("" for the first one), and its size as `readLimit` does. */
function readPage(cursor: string, asked: number, max?: number, otherwise?: number): Result<EndedPage> {
  const limit = readLimit(asked, max, otherwise);
  if (!limit.ok) return limit;
  const after = cursor === "" ? null : readCursor(LAST_FIRST, cursor);
  const isKnown = after !== null || cursor === "";
  return okUnless(isKnown ? null : "after is not the cursor of a page", { after, limit: limit.value });
}

/** Returns a page of ended tokens. @param filter null: no token matches. */
async function endedPage(env: Env, filter: EndedFilter | null, page: EndedPage) {
  if (!filter) return { tokens: [], next: "", scanned: 0 };
  const { tokens, next, scanned } = await pageOfEnded(env, { filter, ...page });
  return { tokens, next: next ? cursorText(LAST_FIRST, next) : "", scanned };
}
