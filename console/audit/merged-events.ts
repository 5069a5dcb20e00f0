import { type AuditEvent, distinctEvents } from "./event.ts";

/** The events of one token that were read so far, the newest first. */
export interface EventsRead {
  readonly accessor: string;
  readonly events: readonly AuditEvent[];
  /** The cursor of its next page; "" at the end. */
  readonly next: string;
}

interface MergedEvents {
  /** The newest first. An event of two of the tokens, such as the making of one by the other, is there once. */
  readonly events: readonly AuditEvent[];
  /** The tokens whose next page is needed for earlier events; empty at the end. */
  readonly unread: readonly EventsRead[];
}

/** The time (ms) from which on all events of the token are known. */
const knownSince = ({ events, next }: EventsRead): number => {
  const last = events.at(-1);
  if (next === "") return Number.NEGATIVE_INFINITY;
  return last ? Date.parse(last.time) : Number.POSITIVE_INFINITY;
};

/** The events of several tokens, as far back as those of all of them were read. */
export function mergedEvents(read: readonly EventsRead[]): MergedEvents {
  const since = Math.max(...read.map(knownSince));
  const known = read.flatMap(({ events }) => events).filter(({ time }) => Date.parse(time) >= since);
  return {
    events: distinctEvents(known).toSorted((a, b) => Date.parse(b.time) - Date.parse(a.time)),
    unread: read.filter((one) => one.next !== "" && knownSince(one) === since),
  };
}
