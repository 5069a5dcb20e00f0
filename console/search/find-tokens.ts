import type { FoundText, Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { KeptRead } from "../kept-reads.ts";
import { needsOf, refusalOf } from "../needed-capabilities.ts";
import { mayDo, type Session } from "../session.ts";
import { MIN_SEARCH, searchMistake } from "../tokens/filter.ts";
import { isTokenAccessor } from "../tokens/token-accessor.ts";
import { listEnded, listTokens } from "../tokens/token-api.ts";
import { bestOf, type Found } from "./search-result.ts";
import {
  A_TOKEN,
  endedWith,
  foundToken,
  type Itself,
  isTokenInSearch,
  itselfOf,
  listsOf,
  NOTHING,
  notAsked,
} from "./text-result.ts";

/** Tokens among which the best results are looked for. */
const RANKED = 100;

/**
 * Tokens that the inventory's search finds, those with the text in their name first, and narrower lists: it finds also
 * those of other owners, whose alias or path has the text.
 */
export async function tokensByText({ api }: Session, text: string): Promise<Itself> {
  if (searchMistake(text) !== "") return NOTHING;
  const answer = await listTokens(api, { search: text, limit: RANKED });
  if (answer.ok) {
    const { tokens } = answer.value;
    return { ...NOTHING, found: [...listsOf(tokens, text), ...bestOf(tokens.map(foundToken), text)] };
  }
  // The text became a token's id after it was checked.
  if (isTokenInSearch(answer.problem)) return { found: [], note: A_TOKEN, isKept: true };
  return { ...NOTHING, note: answer.problem.messages.join(" ") };
}

/** How many of the last ended tokens are searched by name. */
const ENDED = 500;

const lastEnded = new KeptRead((api: Api) => listEnded(api, { limit: ENDED }));

/** The last ended tokens with the text in their name, role or metadata. The list is searched here: no URL has the text. */
export async function endedByText(session: Session, text: string): Promise<readonly Found[]> {
  if (text.length < MIN_SEARCH || !mayDo(session, ASKED_PATHS.ended, "read", "sudo")) return [];
  const answer = await lastEnded.read(session.api, Date.now());
  return answer.ok ? endedWith(answer.value.tokens, text) : [];
}

/** The last ended tokens of exactly this name. */
export async function endedNamed(session: Session, name: string): Promise<readonly Token[]> {
  if (!mayDo(session, ASKED_PATHS.ended, "read", "sudo")) return [];
  const answer = await lastEnded.read(session.api, Date.now());
  const tokens = answer.ok ? answer.value.tokens.map(({ token }) => token) : [];
  return tokens.filter(({ display_name: one }) => one === name);
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
  const { data } = answer.value;
  const inside = data.wrapped_accessor ?? "";
  if (!isTokenAccessor(inside)) return itselfOf(data, text);
  // It may have ended while it was wrapped, with its parent.
  const held = await api.ask<FoundText>(ASKED_PATHS.find, { accessor: inside });
  return itselfOf(data, text, held.ok ? held.value.state : "");
}
