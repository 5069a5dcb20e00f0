import { ASKED_PATHS } from "../asked-paths.ts";
import { readEvents } from "../audit/read-events.ts";
import { mayDo, type Session } from "../session.ts";
import { refusedWith } from "./refusals-in-text.ts";
import type { Found } from "./search-result.ts";

/** Refused requests among which an error is looked for. */
const LOOKED_AT = 200;

/**
 * The last refused requests with a pasted error. It names no request, so the stored errors are compared here: no URL has
 * the text.
 */
export async function refusedWithError(session: Session, text: string): Promise<readonly Found[]> {
  if (!/\s/.test(text) || !mayDo(session, ASKED_PATHS.audit, "read", "sudo")) return [];
  const answer = await readEvents(session.api, { kind: "refusal,fault", limit: LOOKED_AT });
  return answer.ok ? refusedWith(answer.value.events, text) : [];
}
