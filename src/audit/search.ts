import { currentTime, isWithin, type Ms } from "../base/clock.ts";
import { inGroups } from "../base/parallel.ts";
import { fromBase64Url, toBase64Url } from "../crypto/bytes.ts";
import type { AuditEnv } from "./env.ts";
import { auditDirectoryOf, auditShardAt, readObjectName } from "./object-name.ts";
import type { AuditEvent, AuditFilter, AuditUse } from "./query.ts";

/** Maximum number of objects of a shard that one page of events asks. */
const MAX_OBJECTS = 32;
/** How long an isolate caches the list of objects. */
const OBJECTS_MS = 5_000;
/** A record can have a later time than that of its storage, by the difference of two clocks. */
const SKEW_MS = 120_000;
/** Maximum length of a cursor, and of one of a lineage, in characters. */
const MAX_CURSOR_LENGTH = 4096;
const MAX_LINEAGE_LENGTH = 16_384;

interface AuditSearch {
  readonly mentions: readonly string[];
  readonly filter: AuditFilter;
  readonly newestFirst: boolean;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor: EventCursor;
}

/** Where a page begins in each shard. null: nothing is left of the shard; absent: at its beginning. */
export type EventCursor = Readonly<Record<string, Position | null>>;

/** A place in the events of a token, the oldest first. */
export interface LineagePlace {
  readonly accessor: string;
  /** null: all are read. */
  readonly cursor: EventCursor | null;
}

/** Position in a shard: the number of an object, and of the record in it after which the page begins. */
type Position = readonly [number: number, seq: number | null];

/** The cursor of the first page. */
export const FIRST_PAGE: EventCursor = {};

/** An event, with the object that has it. */
export interface FoundEvent extends AuditEvent {
  readonly object: string;
}

interface FoundEvents {
  readonly events: readonly FoundEvent[];
  /** The cursor of the next page; null after the last one. A page with a next one can have fewer events than asked for. */
  readonly next: EventCursor | null;
}

type KnownObject = { readonly name: string; readonly number: number; readonly openedAt: Ms; readonly lastAt: Ms };

let known: { readonly readAt: Ms; readonly objects: ReadonlyMap<number, readonly KnownObject[]> } | null = null;

/** The objects that have records, by shard, the newest first. An object that was opened since is asked too. */
async function objectsByShard(env: AuditEnv) {
  const now = currentTime();
  if (known && isWithin(known.readAt, OBJECTS_MS, now)) return known.objects;
  const all = await auditDirectoryOf(env).stored();
  const objects = all.flatMap(({ name, state, openedAt, lastAt }) => {
    const place = readObjectName(name);
    const last = state === "open" ? Number.POSITIVE_INFINITY : lastAt;
    return place ? [{ name, ...place, openedAt, lastAt: last }] : [];
  });
  known = { readAt: now, objects: Map.groupBy(objects, ({ shard }) => shard) };
  return known.objects;
}

/** Drops what this isolate knows of the objects. */
export function forgetAuditObjects(): void {
  known = null;
}

/** Finds all events, page by page. See `searchEvents`. */
export async function* eventPages(
  env: AuditEnv,
  search: Omit<AuditSearch, "cursor">,
): AsyncGenerator<readonly FoundEvent[]> {
  for (let cursor: EventCursor | null = FIRST_PAGE; cursor; ) {
    const found: FoundEvents = await searchEvents(env, { ...search, cursor });
    yield found.events;
    cursor = found.next;
  }
}

/** Finds events in all objects, in the order of their time of storage. */
export async function searchEvents(env: AuditEnv, search: AuditSearch): Promise<FoundEvents> {
  const begins = search.cursor;
  const shards = [...(await objectsByShard(env))].filter(([shard]) => begins[shard] !== null);
  const answers = await Promise.all(
    shards.map(([shard, objects]) => searchShard(env, search, shard, objects, begins[shard])),
  );
  const sign = search.newestFirst ? -1 : 1;
  const stops = answers.flatMap(({ stoppedAt }) => stoppedAt ?? []);
  // What comes after the place where a shard has stopped waits for the next page.
  const isBefore = (at: Ms) => stops.every((stop) => (at - stop) * sign <= 0);
  const inOrder = answers
    .flatMap(({ events }) => events)
    .filter(({ storedAt }) => isBefore(storedAt))
    .sort((a, b) => (a.storedAt - b.storedAt) * sign || compare(a.object, b.object) || (a.seq - b.seq) * sign);
  const events = inOrder.slice(0, search.limit);
  const shown = new Set(events);
  const next: Record<string, Position | null> = { ...begins };
  for (const { shard, events: found, position } of answers) {
    const taken = found.filter((event) => shown.has(event));
    const last = taken.at(-1);
    const begin = begins[shard] ?? null;
    if (taken.length === found.length) next[shard] = position;
    else next[shard] = last ? [numberOf(last.object), last.seq] : (begin ?? firstPosition(found, search.newestFirst));
  }
  const isEnd = Object.values(next).every((position) => position === null);
  return { events, next: isEnd ? null : next };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function numberOf(object: string): number {
  return readObjectName(object)?.number ?? 0;
}

/** The position right before the first of some events. */
function firstPosition([first]: readonly FoundEvent[], newestFirst: boolean): Position | null {
  return first ? [numberOf(first.object), first.seq + (newestFirst ? 1 : -1)] : null;
}

interface ShardAnswer {
  readonly shard: number;
  readonly events: readonly FoundEvent[];
  /** Where it goes on; null: nothing is left. */
  readonly position: Position | null;
  /** Time of storage up to which the answer is complete; null: to the end. */
  readonly stoppedAt: Ms | null;
}

async function searchShard(
  env: AuditEnv,
  { mentions, filter, newestFirst, limit }: AuditSearch,
  shard: number,
  newest: readonly KnownObject[],
  begin: Position | null | undefined,
): Promise<ShardAnswer> {
  const objects = (newestFirst ? newest : newest.toReversed()).filter(
    ({ number, lastAt }) =>
      (!begin || (newestFirst ? number <= begin[0] : number >= begin[0])) &&
      (filter.from === undefined || lastAt >= filter.from - SKEW_MS),
  );
  const events: FoundEvent[] = [];
  for (const [asked, { name, number, openedAt, lastAt }] of objects.entries()) {
    const isLeft = limit - events.length > 0 && asked < MAX_OBJECTS;
    if (!isLeft) return { shard, events, position: [number, null], stoppedAt: newestFirst ? lastAt : openedAt };
    const after = begin && begin[0] === number ? begin[1] : null;
    const question = { mentions, filter, newestFirst, after, limit: limit - events.length };
    const page = await auditShardAt(env, name).query(question);
    events.push(...page.events.map((event) => ({ ...event, object: name })));
    if (page.next) return { shard, events, position: [number, page.next.seq], stoppedAt: page.next.storedAt };
  }
  return { shard, events, position: null, stoppedAt: null };
}

/** The cursor of the page after one of the events of a page. @param cursor after the event before, or of the page. */
export function cursorAfter(cursor: EventCursor, { object, seq }: FoundEvent): EventCursor {
  const place = readObjectName(object);
  return place ? { ...cursor, [place.shard]: [place.number, seq] } : cursor;
}

/** Writes a cursor for a client; "" after the last page. */
export function writeEventCursor(cursor: EventCursor | null): string {
  return cursor ? toBase64Url(new TextEncoder().encode(JSON.stringify(cursor))) : "";
}

/** The same for the places of a lineage; null: they are too many. */
export function writeLineageCursor(places: readonly LineagePlace[] | null): string | null {
  const pairs = places?.map(({ accessor, cursor }) => [accessor, cursor]);
  const text = pairs ? toBase64Url(new TextEncoder().encode(JSON.stringify(pairs))) : "";
  return text.length <= MAX_LINEAGE_LENGTH ? text : null;
}

/** Reads such a cursor as a client sent it; null when malformed. */
export function readLineageCursor(cursor: string): LineagePlace[] | null {
  const pairs = readJson(cursor, MAX_LINEAGE_LENGTH);
  if (!Array.isArray(pairs) || pairs.length === 0) return null;
  const places = pairs.flatMap((pair): LineagePlace[] => {
    const [accessor, at] = Array.isArray(pair) ? pair : [];
    return typeof accessor === "string" && (at === null || isPositions(at)) ? [{ accessor, cursor: at }] : [];
  });
  return places.length === pairs.length ? places : null;
}

function readJson(cursor: string, most: number): unknown {
  const bytes = cursor.length <= most ? fromBase64Url(cursor) : null;
  try {
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/** Reads a cursor as a client sent it, "" for the first page; null when malformed. A forged one discloses nothing. */
export function readEventCursor(cursor: string): EventCursor | null {
  if (cursor === "") return FIRST_PAGE;
  const positions = readJson(cursor, MAX_CURSOR_LENGTH);
  return isPositions(positions) ? positions : null;
}

function isPositions(value: unknown): value is EventCursor {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((position) => position === null || isPosition(position));
}

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [number, seq] = value;
  return Number.isSafeInteger(number) && (seq === null || Number.isSafeInteger(seq));
}

/** The uses of a token in whole hours, the newest first. `before`: of the next page; null after the last one. */
interface FoundUses {
  readonly uses: readonly AuditUse[];
  readonly before: Ms | null;
}

/** Finds the uses of a token from `from` on, before the hour `before`. */
export async function searchUses(env: AuditEnv, accessor: string, from: Ms, before: Ms): Promise<FoundUses> {
  // Counts can be stored long after their hour, so no object can be excluded by its times.
  const objects = [...(await objectsByShard(env)).values()].flat();
  const answers = await inGroups(objects, ({ name }) => auditShardAt(env, name).uses(accessor, from, before));
  const ends = answers.flatMap(({ uses, more }) => (more ? (uses.at(-1)?.hour ?? []) : []));
  const oldest: Ms = Math.max(from, ...ends);
  const whole = answers.flatMap(({ uses }) => uses).filter(({ hour }) => hour >= oldest);
  const groups = Map.groupBy(whole, ({ hour, address }) => `${hour} ${address}`);
  const uses = [...groups.values()].flatMap((group) => {
    const [one] = group;
    if (!one) return [];
    const count = group.reduce((sum, use) => sum + use.count, 0);
    const first = Math.min(...group.map((use) => use.first));
    return [{ ...one, count, first, last: Math.max(...group.map((use) => use.last)) }];
  });
  return { uses: uses.sort((a, b) => b.hour - a.hour || b.last - a.last), before: oldest > from ? oldest : null };
}
