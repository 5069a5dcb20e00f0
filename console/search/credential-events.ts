import { ASKED_PATHS } from "../asked-paths.ts";
import { eventsOfCredential } from "../audit/read-events.ts";
import { mayDo, type Session } from "../session.ts";
import { isUuid } from "../uuid.ts";
import { foundByEvents, TEAM_TOKEN } from "./found-by-events.ts";
import type { Found } from "./search-result.ts";

/**
 * The results from the audit store for the accessor of a secret-id, or for the id of a team's token, alive or ended. The
 * text is sent in a body, since it may be a secret-id. That needs `update`.
 */
export async function credentialWithEvents(session: Session, text: string): Promise<readonly Found[]> {
  const isAsked = isUuid(text) || TEAM_TOKEN.test(text);
  if (!isAsked || !mayDo(session, ASKED_PATHS.audit, "update", "sudo")) return [];
  const answer = await eventsOfCredential(session.api, text);
  return answer.ok ? foundByEvents(answer.value.events, text) : [];
}
