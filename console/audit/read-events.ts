import type { AuditEvents } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";
import { LOOKED_THROUGH } from "./request-id.ts";

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

/** Ids of recent requests that begin with a text, the newest first. */
export async function requestsBeginning(api: Api, part: string): Promise<Answer<readonly string[]>> {
  const answer = await readEvents(api, { limit: LOOKED_THROUGH });
  if (!answer.ok) return answer;
  const ids = answer.value.events.flatMap(({ request_id: id }) => id ?? []);
  return done([...new Set(ids)].filter((id) => id.startsWith(part.toLowerCase())));
}
