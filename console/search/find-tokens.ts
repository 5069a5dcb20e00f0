import type { FoundText } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { listTokens } from "../tokens/token.ts";
import { type Found, SHOWN_OF_KIND } from "./found.ts";
import { foundToken, type Itself, itselfOf } from "./found-text.ts";

/** Tokens that the inventory's search finds. */
export async function tokensByText(api: Api, text: string): Promise<readonly Found[]> {
  if (text.length < MIN_SEARCH) return [];
  const answer = await listTokens(api, { search: text, limit: SHOWN_OF_KIND });
  return answer.ok ? answer.value.tokens.map(foundToken) : [];
}

/** What this text is: a token or an accessor, alive or not, of whom. The text is sent in a body only. */
export async function textItself(api: Api, text: string): Promise<Itself> {
  const answer = await api.call<FoundText>("sys/tokens/find", { body: { token: text } });
  if (!answer.ok) return { found: [], note: answer.problem.messages.join(" "), isKnown: false };
  return itselfOf(answer.value.data);
}
