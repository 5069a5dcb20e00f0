import type { FoundText } from "../../client/answers.d.ts";
import { needsOf, refusalOf } from "../needed-capabilities.ts";
import { ASKED_PATHS, type Session } from "../session.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { listTokens } from "../tokens/token-api.ts";
import { SHOWN_OF_KIND } from "./search-result.ts";
import { A_TOKEN, foundToken, type Itself, isTokenInSearch, itselfOf, NOTHING, notAsked } from "./text-result.ts";

/** Tokens that the inventory's search finds. */
export async function tokensByText({ api }: Session, text: string): Promise<Itself> {
  if (text.length < MIN_SEARCH) return NOTHING;
  const answer = await listTokens(api, { search: text, limit: SHOWN_OF_KIND });
  if (answer.ok) return { ...NOTHING, found: answer.value.tokens.map(foundToken) };
  // The text became a token's id after it was checked.
  if (isTokenInSearch(answer.problem)) return { found: [], note: A_TOKEN, isKept: true };
  return { ...NOTHING, note: answer.problem.messages.join(" ") };
}

/**
 * What is known of this text: a token or an accessor, alive or not, and its owner. The text is sent in a body only. If
 * the server can't be asked, the form of the text decides whether a URL may contain it.
 */
export async function textItself({ api, capabilities }: Session, text: string): Promise<Itself> {
  const refusal = refusalOf(needsOf(ASKED_PATHS.find), capabilities.of(ASKED_PATHS.find));
  if (refusal !== "") return notAsked(text, refusal);
  const answer = await api.call<FoundText>(ASKED_PATHS.find, { body: { token: text } });
  if (!answer.ok) return notAsked(text, answer.problem.messages.join(" "), answer.problem.status === 403);
  return itselfOf(answer.value.data, text);
}
