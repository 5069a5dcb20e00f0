import { ok } from "../../../src/base/result.ts";
import { AUDIT_EVENTS, type AuditEvent, type AuditEvents } from "../answer-schemas.ts";
import type { Called, GroveClient } from "../client.ts";
import type { Terminal } from "../terminal.ts";
import { number } from "./token-lines.ts";

const PAGE_SIZE = 1000;

/**
 * Reads pages of events until there are as many as are wanted. Other fields are those of the first page. An event that the
 * store has twice, also on two pages, is returned once.
 */
export async function readEvents(
  client: GroveClient,
  terminal: Pick<Terminal, "progress">,
  question: Readonly<Record<string, string>>,
  most: number,
): Promise<Called<AuditEvents>> {
  const path = "sys/audit/events";
  const events = new Map<string, AuditEvent>();
  let first: AuditEvents | null = null;
  let next = "";
  do {
    const limit = String(Math.min(PAGE_SIZE, most - events.size));
    const asked = { ...question, limit, ...(next !== "" && { after: next }) };
    // A URL must not carry a token, so a query about a token is a POST. Any other is a GET, which needs only the right
    // to read.
    const page: Called<AuditEvents> =
      "token" in question ? await client.post(path, AUDIT_EVENTS, asked) : await client.get(path, AUDIT_EVENTS, asked);
    terminal.progress(null);
    if (!page.ok) return page;
    first ??= page.value;
    for (const event of page.value.events) events.set(JSON.stringify(event), event);
    next = page.value.next;
    if (next !== "") terminal.progress(number(events.size, "event"));
  } while (next !== "" && events.size < most);
  terminal.progress(null);
  return ok({ ...first, events: [...events.values()], next });
}
