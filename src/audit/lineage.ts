import { storedJson } from "../storage/tables.ts";
import type { AuditAuth, AuditLine } from "../wire/audit.ts";
import type { AuditEvent } from "./question.ts";

/** Maximum number of tokens below one, of makers above it, and of pages of events that are read for them. */
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
export type EventsOf = (
  accessor: string,
  cursor: string,
) => Promise<{ readonly events: readonly AuditEvent[]; readonly next: string }>;

/** Returns the token that was made by the request of an event; null for none. */
function madeBy(event: AuditEvent): MadeToken | null {
  const line = storedJson<AuditLine>(event.line);
  const token = line.response?.auth;
  const accessor = token?.accessor || token?.token_hash;
  if (!token || !accessor) return null;
  const caller = line.auth && (line.auth.accessor || line.token_hash);
  return { event, line, accessor, token, maker: caller && caller !== accessor ? caller : null };
}

/** Reads pages of events, as many as all readings together may. */
class Pages {
  readonly #eventsOf: EventsOf;
  #left = MAX_PAGES;

  constructor(eventsOf: EventsOf) {
    this.#eventsOf = eventsOf;
  }

  get areLeft(): boolean {
    return this.#left > 0;
  }

  /** The tokens of all events of a token, those that it made and itself. */
  async *made(accessor: string): AsyncGenerator<MadeToken> {
    for (let cursor = ""; this.#left > 0; ) {
      this.#left--;
      const { events, next } = await this.#eventsOf(accessor, cursor);
      for (const event of events) {
        const made = madeBy(event);
        if (made) yield made;
      }
      if (next === "") return;
      cursor = next;
    }
  }
}

/**
 * Returns the tokens that hang below a token by what made them, level by level: also dead ones, and orphans that it
 * made. `complete`: false when there may be more than were looked at.
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
    const made = await firstOf(pages.made(asked), asked);
    if (!made) return makers;
    makers.push(made);
    asked = made.maker;
  }
  return makers;
}

/** The record of the token itself: the first one that says that it was made. */
async function firstOf(all: AsyncGenerator<MadeToken>, accessor: string): Promise<MadeToken | null> {
  for await (const made of all) {
    if (made.accessor === accessor) return made;
    // A token does nothing before it is made: its own record is not there any more.
    if (made.maker === accessor) return null;
  }
  return null;
}
