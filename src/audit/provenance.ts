import { RESPONSE_WRAPPING_POLICY } from "../policy/policy-names.ts";
import { storedJson } from "../storage/tables.ts";
import type { AuditAuth, AuditLine } from "../wire/audit.ts";
import type { AuditEvent } from "./query.ts";
import type { EventCursor, LineagePlace } from "./search.ts";

/** Maximum number of tokens below a token in one answer. */
export const MAX_BELOW = 500;
/** Maximum number of pages of events that one answer reads. */
export const MAX_PAGES = 200;
/** Maximum number of tokens above a token, each the maker of the next. */
const MAX_MAKERS = 16;

/** A token that a record says was made. */
export interface MadeToken {
  readonly event: AuditEvent;
  readonly line: AuditLine;
  /** Its accessor, or its keyed hash where it has none. */
  readonly accessor: string;
  readonly token: AuditAuth;
  /** The accessor or keyed hash of the token that made it; null: it was made by a login. */
  readonly maker: string | null;
}

/** Returns the events of a token, the oldest first, in pages. */
export type EventsOf = (accessor: string) => AsyncIterable<readonly AuditEvent[]>;

/** An event with its caller: the accessor or keyed hash of a token; null for none, such as that of a login. */
interface ReadEvent {
  readonly caller: string | null;
  readonly made: MadeToken | null;
  /** The wrapping token that holds the answer. */
  readonly wrapping: MadeToken | null;
}

/** Reads who has made a request, and which tokens it has made. */
function readEvent(event: AuditEvent): ReadEvent {
  const line = storedJson<AuditLine>(event.line);
  const token = line.response?.auth;
  const accessor = token?.accessor || token?.token_hash;
  const holder = (line.auth && (line.auth.accessor || line.token_hash)) || null;
  // The line of a login has the new token in the place of the caller.
  const caller = accessor !== undefined && holder === accessor ? null : holder;
  const made = token && accessor ? { event, line, accessor, token, maker: caller } : null;
  const { accessor: wraps = "" } = line.response?.wrap_info ?? {};
  const wrapping = wraps === "" ? null : { event, line, accessor: wraps, token: WRAPPING_TOKEN, maker: caller };
  return { caller, made, wrapping };
}

/** A line names a wrapping token by its accessor only. */
const WRAPPING_TOKEN: AuditAuth = {
  accessor: "",
  display_name: "",
  policies: [RESPONSE_WRAPPING_POLICY],
  entity_id: "",
  token_type: "service",
  metadata: {},
};

/** Reads pages of events: at most `MAX_PAGES` in all reads of an instance together. */
class Pages {
  readonly #eventsOf: EventsOf;
  #left = MAX_PAGES;

  constructor(eventsOf: EventsOf) {
    this.#eventsOf = eventsOf;
  }

  async *of(accessor: string): AsyncGenerator<readonly ReadEvent[]> {
    if (this.#left <= 0) return;
    for await (const events of this.#eventsOf(accessor)) {
      this.#left--;
      yield events.map(readEvent);
      if (this.#left <= 0) return;
    }
  }
}

/** Reads a page of the events of a token, the oldest first. Each has the cursor of the page after it. */
export type ReadPage = (
  accessor: string,
  cursor: EventCursor,
) => Promise<{
  readonly events: readonly { readonly event: AuditEvent; readonly after: EventCursor }[];
  readonly next: EventCursor | null;
}>;

/** A token whose events are being read: those that were read and are left, and the cursor after them. */
interface OpenToken {
  readonly accessor: string;
  left: Awaited<ReturnType<ReadPage>>["events"][number][];
  /** The cursor of what is left. */
  at: EventCursor | null;
  /** The cursor after what is left. */
  next: EventCursor | null;
}

/**
 * Returns the tokens that a token made, each followed by those that it made, and so on: also ended tokens, and orphans.
 *
 * @param places where to go on, from the token down to the one that is being read: the `next` of an earlier answer.
 * @returns `next`: null when all are found.
 */
export async function tokensBelow(readPage: ReadPage, places: readonly LineagePlace[]) {
  const open = places.map(({ accessor, cursor }): OpenToken => ({ accessor, left: [], at: cursor, next: cursor }));
  const found = new Map<string, MadeToken & { readonly depth: number }>();
  for (let [token, pages] = [open.at(-1), 0]; token && found.size < MAX_BELOW; token = open.at(-1)) {
    const one = token.left.shift();
    if (one) {
      token.at = one.after;
      const { made } = readEvent(one.event);
      const { accessor } = token;
      if (made?.maker !== accessor || found.has(made.accessor)) continue;
      if (open.some((known) => known.accessor === made.accessor)) continue;
      found.set(made.accessor, { ...made, depth: open.length });
      open.push({ accessor: made.accessor, left: [], at: {}, next: {} });
    } else if (token.next === null) {
      open.pop();
    } else {
      if (pages++ >= MAX_PAGES) break;
      const page = await readPage(token.accessor, token.next);
      Object.assign(token, { left: [...page.events], at: token.next, next: page.next });
    }
  }
  const next = open.map(({ accessor, left, at, next: after }) => ({ accessor, cursor: left.length > 0 ? at : after }));
  return { tokens: [...found.values()], next: open.length === 0 ? null : next };
}

/** Returns how a token was made, then how its maker was, and so on up to a login or a token without a record. */
export async function makersOf(eventsOf: EventsOf, accessor: string): Promise<MadeToken[]> {
  const pages = new Pages(eventsOf);
  const makers: MadeToken[] = [];
  for (let asked: string | null = accessor; asked !== null && makers.length < MAX_MAKERS; ) {
    const made = await makingOf(pages, asked);
    if (!made) return makers;
    makers.push(made);
    asked = made.maker;
  }
  return makers;
}

/** Returns the creation of a token from its events; null when they don't record it. */
async function makingOf(pages: Pages, accessor: string): Promise<MadeToken | null> {
  for await (const events of pages.of(accessor)) {
    const found = events.flatMap(({ made, wrapping }) => [made, wrapping]).find((one) => one?.accessor === accessor);
    if (found) return found;
    // A token acts only after its creation, so the record of its creation was deleted.
    if (events.some(({ caller }) => caller === accessor)) return null;
  }
  return null;
}
