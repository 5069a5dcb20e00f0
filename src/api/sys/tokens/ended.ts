import { type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { Env } from "../../../env.ts";
import { cursorText, readCursor } from "../../../listing/inventory/cursor.ts";
import {
  ALL_ENDED,
  countEnded,
  endedByJob,
  endedWith,
  findEnded,
  pageOfEnded,
} from "../../../listing/inventory/ended-queries.ts";
import type { Position } from "../../../listing/inventory/order.ts";
import { type EndedFilter, type EndedToken, LAST_FIRST } from "../../../listing/inventory/shard/ended.ts";
import type { Asker } from "../../../system/end-request.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { type AccessorCredential, routedIdText } from "../../../token/ids.ts";
import { strictSchema, text, type Values } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/page.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { type MountName, mountNames, TOKEN_VIEW } from "./token-view.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

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
  after: PAGE.after.describe("The cursor in next of the page before."),
  limit: PAGE.limit.describe("Tokens of the page: 1 to 1000, 100 when absent."),
});
type Fields = Values<typeof FIELDS>;

/** `sys/tokens/ended`: what has ended lately. */
export const ENDED_TOKEN_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "sys/tokens/ended",
    {
      summary: "Tokens that have ended lately, the last first: when, how and by whom.",
      operationId: "inventory-read-ended",
      answers: dataAnswer({
        tokens: [{ token: TOKEN_VIEW.shape, ended: END_VIEW.shape }],
        next: "string",
        scanned: "integer",
      }),
    },
    FIELDS,
    listEnded,
  ),
];

async function listEnded({ env, installation, fields }: CallContext<Fields, null>): Promise<Result<Reply, Failure>> {
  if (fields.job !== "" && fields.cause !== "") return err(invalid("job and cause are not given together"));
  if (fields.limit < 0 || fields.limit > MAX_LIMIT) return err(invalid(`limit is at most ${MAX_LIMIT}`));
  const after = readAfter(fields.after);
  if (!after.ok) return after;
  const filter = await filterOf(env, fields);
  const page = filter ? await pageOfEnded(env, filter, after.value, fields.limit || DEFAULT_LIMIT) : null;
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
export function readAfter(cursor: string): Result<Position | null, Failure> {
  const after = cursor === "" ? null : readCursor(LAST_FIRST, cursor);
  return after === null && cursor !== "" ? err(invalid("after is not the cursor of a page")) : ok(after);
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
