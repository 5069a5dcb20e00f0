import { type Answered, type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { inGroups } from "../../../base/parallel.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import {
  ALL_ENDED,
  countEnded,
  endedByJob,
  endedInJob,
  endedWith,
  findEnded,
  pageOfEnded,
} from "../../../listing/inventory/ended-queries.ts";
import { cursorText, type Position, readCursor } from "../../../listing/inventory/order.ts";
import { revocationsOf } from "../../../listing/inventory/revocations.ts";
import { type EndedFilter, type EndedToken, LAST_FIRST } from "../../../listing/inventory/shard/ended.ts";
import type { Asker } from "../../../system/end-request.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { type AccessorCredential, readAccessor, routedIdText } from "../../../token/ids.ts";
import { list, strictSchema, text, type Values } from "../../../wire/fields.ts";
import { PAGE, type Page } from "../../../wire/page.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { AFTER, readLimit, TOKEN_PAGE } from "./filter-fields.ts";
import { type MountName, mountNames, TOKEN_VIEW } from "./token-view.ts";

/** A token that has ended. */
interface Ended extends Pick<EndedToken, "end" | "token"> {
  /** How many others ended with it, where that was counted. */
  readonly others?: number;
}

/** The end of a token. */
export const END_VIEW = view<Ended>({
  at: ["string", ({ end }) => formatRfc3339(end.at)],
  how: ["string", howItEnded],
  by: ["object | null", ({ end }) => end.by && askerObject(end.by)],
  cause: ["string", ({ end }) => end.cause],
  request_id: ["string", ({ end }) => end.request],
  request_path: ["string", ({ end }) => end.path ?? ""],
  job: ["string", ({ end }) => end.job],
  "with?": ["integer", ({ others }) => others],
});

const FIELDS = strictSchema({
  job: text().describe("Only tokens that this job revoked."),
  cause: text().describe("Only tokens that ended with the one that has this accessor, itself included."),
  ...TOKEN_PAGE,
});
type Fields = Values<typeof FIELDS>;

async function listEnded({ env, installation, fields }: CallContext<Fields>): Answered {
  if (fields.job !== "" && fields.cause !== "") return refuse("job and cause are not given together");
  const limit = readLimit(fields.limit);
  if (!limit.ok) return limit;
  const after = readAfter(fields.after);
  if (!after.ok) return after;
  const filter = await filterOf(env, fields);
  const page = filter ? await pageOfEnded(env, filter, after.value, limit.value) : null;
  const mounts = mountNames(installation);
  return ok(
    dataReply({
      tokens: (page?.tokens ?? []).map((token) => ({
        token: TOKEN_VIEW.show({ token: token.token, mounts }),
        ended: END_VIEW.show(token),
      })),
      next: page?.next ? cursorText(LAST_FIRST, page.next) : "",
      scanned: page?.scanned ?? 0,
    }),
  );
}

/** Reads the cursor of a page of ended tokens; null for "", the first page. */
function readAfter(cursor: string): Result<Position | null> {
  const after = cursor === "" ? null : readCursor(LAST_FIRST, cursor);
  return after === null && cursor !== "" ? refuse("after is not the cursor of a page") : ok(after);
}

async function filterOf(env: Env, { job, cause }: Fields): Promise<EndedFilter | null> {
  if (job !== "") return endedByJob(env, job);
  return cause === "" ? ALL_ENDED : endedWith(env, cause);
}

/** What is known of a token that is not alive: kept by the list, or still in its tree, which is about to sweep it. Null: nothing. */
export async function endedReply(
  env: Env,
  { treeId, row, tail }: AccessorCredential,
  mounts: ReadonlyMap<string, MountName>,
): Promise<Reply | null> {
  const accessor = routedIdText(treeId, row, tail);
  const kept = await findEnded(env, accessor);
  const ended = kept ?? (await unsweptIn(env, treeId, row, tail));
  if (!ended) return null;
  const { token, end } = ended;
  const filter = end.job === "" ? { cause: end.cause, from: end.at, to: end.at } : await endedByJob(env, end.job);
  const others = (await countEnded(env, filter)) - (kept ? 1 : 0);
  return dataReply({
    token: TOKEN_VIEW.show({ token, mounts }),
    ended: END_VIEW.show({ token, end, others: Math.max(0, others) }),
  });
}

async function unsweptIn(env: Env, treeId: string, row: number, tail: Uint8Array): Promise<Ended | null> {
  const found = await treeOf(env, treeId)?.unsweptEnd(row, tail);
  return found?.entry ? { token: { ...found.entry, id: row }, end: found.end } : null;
}

function howItEnded({ token, end }: Ended): string {
  return end.cause === token.accessor ? end.how : `${end.how === "revoked" ? "revoked" : "ended"} with its parent`;
}

/** The token of a request, as answers show it. */
export function askerObject({ accessor, displayName, entityId }: Asker): Record<string, string> {
  return { accessor, display_name: displayName, entity_id: entityId };
}

/** What has ended lately, what a revocation of many tokens ended, and the proof that it has. */
export const ENDED_TOKEN_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/tokens/ended", {
    summary: "Tokens that have ended lately, the last first: when, how and by whom.",
    operationId: "inventory-read-ended",
    answers: dataAnswer({
      tokens: [{ token: TOKEN_VIEW.shape, ended: END_VIEW.shape }],
      next: "string",
      scanned: "integer",
    }),
    input: FIELDS,
    handle: listEnded,
  }),
  simpleRoute("read", "sys/tokens/jobs/:id/receipt", {
    summary: "Who revoked what with a job, and the accessors of all tokens that it ended, page by page.",
    operationId: "inventory-read-receipt",
    parameters: { id: "Id of the job." },
    answers: dataAnswer({
      job: "string",
      state: "string",
      "complete?": "boolean",
      asked_by: "object | null",
      request_id: "string",
      started: "string",
      finished: "string | null",
      filter: "object",
      numbers: { matched: "integer", total: "integer" },
      accessors: ["string"],
      next: "string",
    }),
    input: strictSchema({
      after: AFTER,
      limit: PAGE.limit.describe(`Accessors of the page: 1 to ${MAX_NAMED_TOKENS}, which it has when absent.`),
    }),
    handle: readReceipt,
  }),
  simpleRoute("update", "sys/tokens/verify-ended", {
    summary: "Asks the trees of tokens whether each of them is refused.",
    operationId: "inventory-verify-ended",
    answers: dataAnswer({
      checked: "integer",
      ended: "integer",
      unknown: "integer",
      alive: ["string"],
      next: "string",
    }),
    input: strictSchema({
      accessors: list().describe(`Accessors of the tokens, at most ${MAX_NAMED_TOKENS}.`),
      job: text().describe(`All that this job ended, in place of accessors, ${MAX_NAMED_TOKENS} at a time.`),
      after: AFTER,
    }),
    handle: verifyEnded,
  }),
];

async function readReceipt({ env, params, fields }: CallContext<Page>): Answered {
  const { after } = fields;
  const limit = readLimit(fields.limit, MAX_NAMED_TOKENS, MAX_NAMED_TOKENS);
  if (!limit.ok) return limit;
  const job = await revocationsOf(env).read(params.id ?? "");
  if (!job || job.dry) return NOT_FOUND;
  const filter = endedInJob(job.id, job);
  const page = await accessorsOf(env, filter, after, limit.value);
  if (!page.ok) return page;
  const isOver = job.finishedAt !== null;
  const { by, request } = job.selection.asked;
  return ok(
    dataReply({
      job: job.id,
      state: job.state,
      // Of a token that is counted and not kept, its tree has not swept it yet, or it is kept no longer. Every shard counts all
      // that the job ended, so the first page alone says it.
      ...(after === "" && { complete: isOver && (await countEnded(env, filter)) >= job.total }),
      asked_by: by && askerObject(by),
      request_id: request,
      started: formatRfc3339(job.startedAt),
      finished: formatTime(job.finishedAt),
      filter: JSON.parse(job.selection.sent),
      // As the dry run and the job have it: one that ended with another above it in an earlier step is among them.
      numbers: { matched: job.tally?.matched ?? 0, total: job.total },
      ...page.value,
    }),
  );
}

async function accessorsOf(
  env: Env,
  filter: EndedFilter,
  cursor: string,
  limit: number,
): Promise<Result<{ accessors: string[]; next: string }>> {
  const after = readAfter(cursor);
  if (!after.ok) return after;
  const { tokens, next } = await pageOfEnded(env, filter, after.value, limit);
  return ok({
    accessors: tokens.map(({ token }) => token.accessor),
    next: next === null ? "" : cursorText(LAST_FIRST, next),
  });
}

/** A page of what a job ended. A job that was never there is not found: that nothing of it is alive would read as a proof. */
async function endedPageOf(
  env: Env,
  job: string,
  after: string,
): Promise<Result<{ accessors: string[]; next: string }>> {
  const run = await revocationsOf(env).read(job);
  const page = await accessorsOf(env, endedInJob(job, run), after, MAX_NAMED_TOKENS);
  return page.ok && page.value.accessors.length === 0 && !run ? NOT_FOUND : page;
}

type CheckFields = { readonly accessors: string[]; readonly job: string; readonly after: string };

async function verifyEnded({ env, installation, fields }: CallContext<CheckFields>): Answered {
  const { job, after } = fields;
  const named = [...new Set(fields.accessors)];
  if ((job !== "") === named.length > 0) return refuse("accessors or a job say which tokens are meant: one of them");
  if (named.length > MAX_NAMED_TOKENS) return refuse(`accessors are at most ${MAX_NAMED_TOKENS}`);
  const page = job === "" ? ok({ accessors: named, next: "" }) : await endedPageOf(env, job, after);
  if (!page.ok) return page;
  const { accessors, next } = page.value;
  const read = await Promise.all(accessors.map((accessor) => readAccessor(installation.keys, accessor)));
  const places = read.flatMap((place) => place ?? []);
  const answers = await inGroups([...Map.groupBy(places, ({ treeId }) => treeId)], async ([treeId, of]) => {
    const rows: readonly number[] =
      (await treeOf(env, treeId)?.aliveOf(of.map(({ row, tail }) => ({ row, tail })))) ?? [];
    return of.filter(({ row }) => rows.includes(row)).map(({ row, tail }) => routedIdText(treeId, row, tail));
  });
  const alive = answers.flat();
  const unknown = accessors.length - places.length;
  return ok(dataReply({ checked: accessors.length, ended: places.length - alive.length, unknown, alive, next }));
}
