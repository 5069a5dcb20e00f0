import { okUnless, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { type CountedFilter, type EndedFilter, LAST_FIRST } from "../../../listing/inventory/ended-tokens.ts";
import { cursorText, type OrderPosition, readCursor } from "../../../listing/inventory/page-cursor.ts";
import { endedByRequest, endedInJob, pageOfEnded } from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocation-jobs.ts";
import { systemOf } from "../../../system/system.ts";
import { readLimit } from "./filter-fields.ts";

/** Returns the filter for the tokens that a request ended: few records are read when its watermark is kept. */
export async function endedIn(env: Env, request: string): Promise<EndedFilter> {
  const marks = (await systemOf(env).watermarks()).filter(({ asked }) => asked.request === request);
  return endedByRequest(request, marks.length === 0 ? null : Math.min(...marks.map(({ madeAt }) => madeAt)));
}

/** Returns the filter for the tokens that a job ended. */
export async function endedByJob(env: Env, job: string): Promise<CountedFilter> {
  return endedInJob(job, await revocationsOf(env).read(job));
}

interface EndedPage {
  /** null: from the first. */
  readonly after: OrderPosition | null;
  readonly limit: number;
}

/** Reads where a page begins ("" for the first one), and its size as `readLimit` does. */
export function readEndedPage(cursor: string, asked: number, max?: number, otherwise?: number): Result<EndedPage> {
  const limit = readLimit(asked, max, otherwise);
  if (!limit.ok) return limit;
  const after = cursor === "" ? null : readCursor(LAST_FIRST, cursor);
  const isKnown = after !== null || cursor === "";
  return okUnless(isKnown ? null : "after is not the cursor of a page", { after, limit: limit.value });
}

/** Returns a page of ended tokens. @param filter null: no token matches. */
export async function endedPage(env: Env, filter: EndedFilter | null, page: EndedPage) {
  if (!filter) return { tokens: [], next: "", scanned: 0 };
  const { tokens, next, scanned } = await pageOfEnded(env, { filter, ...page });
  return { tokens, next: next ? cursorText(LAST_FIRST, next) : "", scanned };
}
