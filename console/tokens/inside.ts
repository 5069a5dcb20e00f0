import type { FoundText, Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { isWrappedIn } from "../audit/event-kind.ts";
import { readEvents } from "../audit/read-events.ts";
import { type Answer, done } from "../result.ts";
import { isTokenAccessor } from "./token-accessor.ts";
import { readTokenOrEnd } from "./token-api.ts";

/** The accessor of the token or secret-id in a live wrapping token; "" when it holds none, or none is known. */
export async function insideOf(api: Api, accessor: string): Promise<Answer<string>> {
  const found = await api.ask<FoundText>(ASKED_PATHS.find, { accessor });
  return found.ok ? done(found.value.wrapped_accessor ?? "") : found;
}

/**
 * The live token inside an ended wrapping token, by the event that made the wrapping token. null when it held no token,
 * or that token has ended too.
 */
export async function leftOf(api: Api, accessor: string): Promise<Answer<Token | null>> {
  const events = await readEvents(api, { accessor });
  if (!events.ok) return events;
  const making = events.value.events.find((event) => isWrappedIn(event, accessor));
  const inside = making?.response?.wrap_info?.wrapped_accessor ?? "";
  if (!isTokenAccessor(inside)) return done(null);
  const token = await readTokenOrEnd(api, inside);
  return done(token.ok && !("ended" in token.value) ? token.value.token : null);
}
