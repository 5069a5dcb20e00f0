import { inPool } from "../../../src/base/parallel.ts";
import { ok } from "../../../src/base/result.ts";
import { AUDIT_EVENTS, type AuditEvent, type AuditEvents } from "../answer-schemas.ts";
import type { Called, GroveClient } from "../client.ts";
import type { Terminal } from "../terminal.ts";
import { readEvents } from "./audit-pages.ts";

/** Maximum length of a cursor in a URL. */
const MAX_IN_URL = 4096;
/** Tokens that are asked about at the same time. */
const PARALLEL = 4;

/**
 * Adds to the answer about a token the events and reads of all tokens below it, the newest first.
 *
 * @param fields the query, with its filters.
 * @param most how many events are wanted.
 */
export async function withAllBelow(
  client: GroveClient,
  terminal: Pick<Terminal, "progress">,
  { lineage: _, ...fields }: Readonly<Record<string, string>>,
  own: AuditEvents,
  most: number,
): Promise<Called<AuditEvents>> {
  const lineage = await wholeLineage(client, terminal, own);
  if (!lineage.ok) return lineage;
  const { below } = lineage.value;
  let done = 0;
  const answers = await inPool(below, PARALLEL, async ({ accessor }) => {
    const answer = await readEvents(client, { progress: () => {} }, { ...fields, accessor }, most);
    terminal.progress(`${++done} of ${below.length} tokens below it`);
    return answer;
  });
  terminal.progress(null);
  const failure = answers.find((answer) => !answer.ok);
  if (failure && !failure.ok) return failure;
  const all = [own, ...answers.flatMap((answer) => (answer.ok ? [answer.value] : []))];
  const events = newestFirst(all.flatMap((answer) => answer.events));
  const uses = all.flatMap(({ uses = [], accessor }) => uses.map((use) => ({ ...use, accessor })));
  return ok({
    ...own,
    ...lineage.value,
    events: events.slice(0, most),
    uses: uses.sort((a, b) => (a.last < b.last ? 1 : -1)),
    more_uses: all.some((answer) => answer.more_uses),
    next: "",
    more: events.length > most || all.some((answer) => answer.next !== ""),
  });
}

/** All tokens below a token: an answer has some of them. */
export async function wholeLineage(client: GroveClient, terminal: Pick<Terminal, "progress">, own: AuditEvents) {
  const { accessor = "" } = own;
  let below = own.below ?? [];
  let [next = "", complete] = [own.below_next, own.complete];
  while (next !== "") {
    terminal.progress(`${below.length} tokens below it`);
    const asked = { accessor, lineage: "true", below_after: next };
    // A GET needs only the right to read, and has no room for the cursor of a deep place.
    const page: Called<AuditEvents> =
      next.length > MAX_IN_URL
        ? await client.post("sys/audit/events", AUDIT_EVENTS, asked)
        : await client.get("sys/audit/events", AUDIT_EVENTS, asked);
    if (!page.ok) return page;
    below = [...below, ...(page.value.below ?? [])];
    ({ below_next: next = "", complete } = page.value);
  }
  return ok({ below, complete });
}

/** An event about two of the tokens, such as the making of one by the other, is in the answers of both. */
function newestFirst(events: readonly AuditEvent[]): AuditEvent[] {
  const unique = [...new Map(events.map((event) => [JSON.stringify(event), event])).values()];
  return unique.sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
}
