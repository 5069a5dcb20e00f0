import type {
  EndedPage,
  EndedToken,
  RevocationCount,
  RevocationJob,
  RevocationPreview,
  StartedRevocation,
  Token,
  TokenDetail,
  TokenPage,
} from "../../client/answers.d.ts";
import type { Api, Query } from "../api.ts";
import { pathOf } from "../href.ts";
import { type Answer, done, failed } from "../result.ts";
import type { Amount } from "./amount.ts";
import type { Preview } from "./revocation-preview.ts";
import { refusalOf, type Selection } from "./selection.ts";

export type Child = TokenDetail["children"][number];

export const listTokens = (api: Api, query: Query): Promise<Answer<TokenPage>> =>
  api.read<TokenPage>("sys/tokens", query);

/** Children per page. */
const CHILDREN = 50;

export const readToken = (api: Api, accessor: string, after = ""): Promise<Answer<TokenDetail>> =>
  api.read<TokenDetail>(`sys/tokens/${pathOf(accessor)}`, { limit: CHILDREN, after });

/** Revokes a token and its descendants. After the answer none of them is accepted. */
export async function revokeToken(api: Api, accessor: string): Promise<Answer<void>> {
  const answer = await api.call("auth/token/revoke-accessor", { body: { accessor } });
  return answer.ok ? done(undefined) : answer;
}

/** Interval of reads of a job (ms). */
export const POLL_MS = 400;

type PreviewAnswer = RevocationPreview | RevocationCount;

/**
 * Counts the tokens that a revocation would end. A large count continues in a job, which is polled until its end.
 *
 * @param counting gets the number so far; it returns false when the user left the page, which stops the job.
 */
export async function previewRevocation(
  api: Api,
  selection: Selection,
  counting: (counted: number) => boolean = () => true,
): Promise<Answer<Preview>> {
  const refusal = refusalOf(selection);
  if (refusal !== "") return failed({ status: 400, messages: [refusal], requestId: "" });
  const answer = await api.call<PreviewAnswer>("sys/tokens/revoke", { body: { ...selection, dry_run: true } });
  if (!answer.ok) return answer;
  const { data } = answer.value;
  if (!("job" in data)) return done(data);
  for (let counted = data.counted; ; ) {
    if (!counting(counted)) await stopJob(api, data.job);
    const job = await readJob(api, data.job);
    if (!job.ok) return job;
    const { state, preview } = job.value;
    if (state === "counted" && preview) return done(preview);
    if (state !== "counting")
      return failed({ status: 0, messages: ["the count did not come to its end"], requestId: "" });
    counted = job.value.counted;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The number of selected tokens; nothing is revoked. */
export async function countTokens(api: Api, selection: Selection): Promise<Answer<Amount>> {
  const answer = await previewRevocation(api, { ...selection, include_root: true, include_self: true });
  return answer.ok ? done({ count: answer.value.count, more: false }) : answer;
}

/**
 * Starts a revocation. The server refuses it if more tokens match, or end, than was counted. Returns the id of the job.
 */
export async function beginRevocation(
  api: Api,
  selection: Selection,
  { count, total }: { readonly count: number; readonly total?: number },
): Promise<Answer<string>> {
  const body = { ...selection, dry_run: false, expected_count: count, expected_total: total };
  const answer = await api.call<StartedRevocation>("sys/tokens/revoke", { body });
  return answer.ok ? done(answer.value.data.job) : answer;
}

export const readJob = (api: Api, id: string): Promise<Answer<RevocationJob>> =>
  api.read<RevocationJob>(`sys/tokens/jobs/${pathOf(id)}`);

export async function stopJob(api: Api, id: string): Promise<Answer<void>> {
  const answer = await api.call(`sys/tokens/jobs/${pathOf(id)}/stop`, { body: {} });
  return answer.ok ? done(undefined) : answer;
}

/** A token with its lineage, or how it ended as long as that is stored. */
export const readTokenOrEnd = (api: Api, accessor: string): Promise<Answer<TokenDetail | EndedToken>> =>
  api.read<TokenDetail | EndedToken>(`sys/tokens/${pathOf(accessor)}`, { limit: CHILDREN });

/** Recently ended tokens, the last first, of a job, a cause or a request. */
export const listEnded = (
  api: Api,
  query: {
    readonly job?: string;
    readonly cause?: string;
    readonly request_id?: string;
    readonly after?: string;
    readonly limit?: number;
  },
): Promise<Answer<EndedPage>> => api.read<EndedPage>("sys/tokens/ended", query);

const PAGE = 1_000;

export interface SomeTokens {
  readonly tokens: readonly Token[];
  /** True when there are more than were read. */
  readonly more: boolean;
}

/** At most `most` tokens of a filter, read page by page. */
export async function readTokens(api: Api, query: Query, most: number): Promise<Answer<SomeTokens>> {
  const tokens: Token[] = [];
  let after = "";
  // A page can be empty although more follow, because the server's work for a page is bounded.
  for (let page = 0; page < (4 * most) / PAGE; page++) {
    const answer = await listTokens(api, { ...query, limit: Math.min(PAGE, most - tokens.length), after });
    if (!answer.ok) return answer;
    tokens.push(...answer.value.tokens);
    after = answer.value.next;
    if (after === "" || tokens.length >= most) break;
  }
  return done({ tokens, more: after !== "" });
}
