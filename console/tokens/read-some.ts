import type { Api, Query } from "../api.ts";
import { type Answer, done } from "../result.ts";
import type { Token } from "./model.ts";
import { listTokens } from "./token.ts";

const PAGE = 1_000;

export interface SomeTokens {
  readonly tokens: readonly Token[];
  /** True when there are more than were read. */
  readonly more: boolean;
}

/** The tokens of a filter, page after page, at most `most`. */
export async function readTokens(api: Api, query: Query, most: number): Promise<Answer<SomeTokens>> {
  const tokens: Token[] = [];
  let after = "";
  // A page can be empty although there are more: the work for one is bounded.
  for (let page = 0; page < (4 * most) / PAGE; page++) {
    const answer = await listTokens(api, { ...query, limit: Math.min(PAGE, most - tokens.length), after });
    if (!answer.ok) return answer;
    tokens.push(...answer.value.tokens);
    after = answer.value.next;
    if (after === "" || tokens.length >= most) break;
  }
  return done({ tokens, more: after !== "" });
}
