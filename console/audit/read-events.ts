import type { AuditEvents } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";
import type { AuditEvent } from "./event.ts";

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

/** Most pages of a long list of events that are read, and events of each. */
const MOST_PAGES = 5;
const LONG_PAGE = 1_000;

interface ManyEvents {
  readonly events: readonly AuditEvent[];
  /** True when not all were read. */
  readonly more: boolean;
}

/** The last events of a question, the newest first, at most `MOST_PAGES` pages. */
export async function readManyEvents(api: Api, question: AuditQuestion): Promise<Answer<ManyEvents>> {
  const events: AuditEvent[] = [];
  let after = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await readEvents(api, { ...question, limit: LONG_PAGE }, { after });
    if (!answer.ok) return answer;
    events.push(...answer.value.events);
    after = answer.value.next;
    if (after === "") break;
  }
  return done({ events, more: after !== "" });
}

/** Events of a token or a secret-id by its accessor, which is sent in a body only. */
export const eventsOfCredential = (api: Api, accessor: string): Promise<Answer<AuditEvents>> =>
  findEvents(api, { accessor, limit: 10 });

/** Events of a question that may have a secret-id, which is sent in a body only. */
export const findEvents = (api: Api, question: AuditQuestion): Promise<Answer<AuditEvents>> =>
  api.ask<AuditEvents>("sys/audit/events", question);
