import { ok } from "../../../src/base/result.ts";
import { AUDIT_EVENTS, type AuditEvent, type AuditEvents } from "../answer-schemas.ts";
import type { Called, GroveClient } from "../client.ts";
import type { Terminal } from "../terminal.ts";
import { number } from "./token-lines.ts";

const PAGE_SIZE = 1000;

/** Reads pages of events until there are as many as are wanted. Other fields are those of the first page. */
export async function readEvents(
  client: GroveClient,
  terminal: Pick<Terminal, "progress">,
  question: Readonly<Record<string, string>>,
  most: number,
): Promise<Called<AuditEvents>> {
  const path = "sys/audit/events";
  const events: AuditEvent[] = [];
  let first: AuditEvents | null = null;
  let next = "";
  do {
    const limit = String(Math.min(PAGE_SIZE, most - events.length));
    const asked = { ...question, limit, ...(next !== "" && { after: next }) };
    // A URL must not carry a token, so a query about a token is a POST. Any other is a GET, which needs only the right
    // to read.
    const page: Called<AuditEvents> =
      "token" in question ? await client.post(path, AUDIT_EVENTS, asked) : await client.get(path, AUDIT_EVENTS, asked);
    terminal.progress(null);
    if (!page.ok) return page;
    first ??= page.value;
    events.push(...page.value.events);
    next = page.value.next;
    if (next !== "") terminal.progress(number(events.length, "event"));
  } while (next !== "" && events.length < most);
  terminal.progress(null);
  return ok({ ...first, events, next });
}
