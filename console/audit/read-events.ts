import type { AuditEvents } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { type Answer, done } from "../result.ts";
import { mayDo, type Session } from "../session.ts";
import { isRequestId, LOOKED_THROUGH } from "./request-id.ts";

/** A filter of events, with the fields of `sys/audit/events`. It never holds a token, as URLs are logged. */
export interface AuditQuestion {
  readonly [field: string]: string | number | boolean;
}

/** Events of a page. */
const PAGE = 50;

/**
 * A page of events, the newest first. The first page of an accessor has its makers and uses too.
 *
 * @param isOwn only the events of the caller's own entity, which need no `sudo`
 */
export const readEvents = (
  api: Api,
  question: AuditQuestion,
  { after = "", isOwn = false } = {},
): Promise<Answer<AuditEvents>> =>
  api.read<AuditEvents>(isOwn ? "sys/audit-self/events" : "sys/audit/events", { limit: PAGE, ...question, after });

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

/** Events of a token or a secret-id by its accessor, which is sent in a body only. */
export const eventsOfCredential = (api: Api, accessor: string): Promise<Answer<AuditEvents>> =>
  findEvents(api, { accessor, limit: 10 });

async function findEvents(api: Api, body: AuditQuestion): Promise<Answer<AuditEvents>> {
  const answer = await api.call<AuditEvents>("sys/audit/events", { body });
  return answer.ok ? done(answer.value.data) : answer;
}
