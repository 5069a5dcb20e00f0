import type { EndedCheck, Receipt } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { pathOf } from "../href.ts";
import { type Answer, done } from "../result.ts";
import { MOST_NAMED } from "../tokens/model.ts";

/** @param limit accessors of the page, 1 to `MOST_NAMED` */
export const readReceipt = (api: Api, job: string, after = "", limit = MOST_NAMED): Promise<Answer<Receipt>> =>
  api.read<Receipt>(`sys/tokens/jobs/${pathOf(job)}/receipt`, { after, limit });

/** Asks the trees of these tokens, at most `MOST_NAMED`, whether each is refused. */
export async function checkAccessors(api: Api, accessors: readonly string[]): Promise<Answer<EndedCheck>> {
  const answer = await api.call<EndedCheck>("sys/tokens/verify-ended", { body: { accessors } });
  return answer.ok ? done(answer.value.data) : answer;
}

/** Asks the trees of the tokens that a job ended whether each is refused; a page of them. */
export async function verifyEnded(api: Api, job: string, after: string): Promise<Answer<EndedCheck>> {
  const answer = await api.call<EndedCheck>("sys/tokens/verify-ended", {
    body: { job, ...(after !== "" && { after }) },
  });
  return answer.ok ? done(answer.value.data) : answer;
}
