import type { EndedCheck, Receipt } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { pathOf } from "../href.ts";
import { type Answer, done } from "../result.ts";
import { MOST_NAMED } from "../tokens/selection.ts";
import { listEnded } from "../tokens/token-api.ts";

/** @param limit accessors of the page, 1 to `MOST_NAMED` */
export const readReceipt = (api: Api, job: string, after = "", limit = MOST_NAMED): Promise<Answer<Receipt>> =>
  api.read<Receipt>(`sys/tokens/jobs/${pathOf(job)}/receipt`, { after, limit });

/** Asks the trees of at most `MOST_NAMED` tokens whether each is refused. */
export const checkAccessors = (api: Api, accessors: readonly string[]): Promise<Answer<EndedCheck>> =>
  api.ask<EndedCheck>("sys/tokens/verify-ended", { accessors });

/** Asks the trees of one page of the tokens that a job or a request ended whether each is refused. */
export const verifyEnded = (
  api: Api,
  of: { readonly job: string } | { readonly request_id: string },
  after: string,
): Promise<Answer<EndedCheck>> =>
  api.ask<EndedCheck>("sys/tokens/verify-ended", { ...of, ...(after !== "" && { after }) });

/** Like `verifyEnded` for a request. Without a record of it (404) no token was checked. */
export async function verifyRequest(api: Api, request: string, after: string): Promise<Answer<EndedCheck>> {
  const answer = await verifyEnded(api, { request_id: request }, after);
  return !answer.ok && answer.problem.status === 404 ? done(NOTHING_CHECKED) : answer;
}

const NOTHING_CHECKED: EndedCheck = {
  ...{ checked: 0, ended: 0, unknown: 0, alive: [], unanswered: [], next: "" },
  unrevoked_leases: { waiting: 0, failing: 0, removed: 0, more: false, failures: [] },
};

/**
 * Asks the trees of one page of a revoked token and the tokens that ended with it, as far as the sweep has recorded them.
 */
export async function verifyEndOf(api: Api, cause: string, after: string): Promise<Answer<EndedCheck>> {
  // The first page includes the token itself, recorded or not.
  const named = await listEnded(api, { cause, after, limit: MOST_NAMED - 1 });
  if (!named.ok) return named;
  const accessors = new Set(named.value.tokens.map(({ token }) => token.accessor));
  if (after === "") accessors.add(cause);
  else accessors.delete(cause);
  if (accessors.size === 0) return done({ ...NOTHING_CHECKED, next: named.value.next });
  const check = await checkAccessors(api, [...accessors]);
  return check.ok ? done({ ...check.value, next: named.value.next }) : check;
}
