import { storedJson } from "../storage/tables.ts";
import type { AuditAuth, AuditLine } from "../wire/audit.ts";
import type { AuditEvent } from "./query.ts";

/** Maximum number of tokens below a token, of makers above it, and of pages of events that are read to find them. */
export const MAX_BELOW = 500;
const MAX_MAKERS = 16;
const MAX_PAGES = 200;

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
}

/** Reads who has made a request, and which token it has made. */
function readEvent(event: AuditEvent): ReadEvent {
  const line = storedJson<AuditLine>(event.line);
  const token = line.response?.auth;
  const accessor = token?.accessor || token?.token_hash;
  const holder = (line.auth && (line.auth.accessor || line.token_hash)) || null;
  if (!token || !accessor) return { caller: holder, made: null };
  // The line of a login has the new token in the place of the caller.
  const caller = holder === accessor ? null : holder;
  return { caller, made: { event, line, accessor, token, maker: caller } };
}

/** Reads pages of events: at most `MAX_PAGES` in all reads of an instance together. */
class Pages {
  readonly #eventsOf: EventsOf;
  #left = MAX_PAGES;

  constructor(eventsOf: EventsOf) {
    this.#eventsOf = eventsOf;
  }

  get areLeft(): boolean {
    return this.#left > 0;
  }

  async *of(accessor: string): AsyncGenerator<readonly ReadEvent[]> {
    if (this.#left <= 0) return;
    for await (const events of this.#eventsOf(accessor)) {
      this.#left--;
      yield events.map(readEvent);
      if (this.#left <= 0) return;
    }
  }

  /** The tokens whose creation the events of a token record: those that it made, and the token itself. */
  async *made(accessor: string): AsyncGenerator<MadeToken> {
    for await (const events of this.of(accessor)) yield* events.flatMap(({ made }) => made ?? []);
  }
}

/**
 * Returns the tokens that a token made, then those that they made, and so on, breadth first: also ended tokens, and
 * orphans. `complete`: false when a limit was reached, so there may be more.
 */
export async function tokensBelow(eventsOf: EventsOf, accessor: string) {
  const pages = new Pages(eventsOf);
  const found = new Map<string, MadeToken & { readonly depth: number }>();
  const queue: { readonly accessor: string; readonly depth: number }[] = [{ accessor, depth: 0 }];
  for (let one = queue.shift(); one && pages.areLeft && found.size < MAX_BELOW; one = queue.shift()) {
    for await (const made of pages.made(one.accessor)) {
      if (made.maker !== one.accessor || found.has(made.accessor) || made.accessor === accessor) continue;
      if (found.size >= MAX_BELOW) break;
      const depth = one.depth + 1;
      found.set(made.accessor, { ...made, depth });
      queue.push({ accessor: made.accessor, depth });
    }
  }
  return { tokens: [...found.values()], complete: pages.areLeft && found.size < MAX_BELOW };
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
    const own = events.find(({ made }) => made?.accessor === accessor);
    if (own) return own.made;
    // A token acts only after its creation, so the record of its creation was deleted.
    if (events.some(({ caller }) => caller === accessor)) return null;
  }
  return null;
}
