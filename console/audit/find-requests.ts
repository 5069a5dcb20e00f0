import { ASKED_PATHS } from "../asked-paths.ts";
import { type Answer, done } from "../result.ts";
import { mayDo, type Session } from "../session.ts";
import { findEvents, readEvents } from "./read-events.ts";
import { isRequestId, LOOKED_THROUGH } from "./request-id.ts";

/**
 * Ids of stored requests that begin with a text, newest first. The store is asked for a whole id; for a part of one, the
 * recent events are searched.
 *
 * The text may be a secret-id, which has the form of a request's id, so it is sent in a body only. That needs `update`;
 * without it the recent events are read.
 */
export async function requestsBeginning(session: Session, text: string): Promise<Answer<readonly string[]>> {
  const { api } = session;
  const part = text.toLowerCase();
  const isWhole = isRequestId(part) && mayDo(session, ASKED_PATHS.audit, "update", "sudo");
  const answer = isWhole
    ? await findEvents(api, { request_id: part, limit: 1 })
    : await readEvents(api, { limit: LOOKED_THROUGH });
  if (!answer.ok) return answer;
  const ids = answer.value.events.flatMap(({ request_id: id }) => id ?? []);
  return done([...new Set(ids)].filter((id) => id.startsWith(part)));
}
