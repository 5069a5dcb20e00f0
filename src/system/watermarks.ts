import type { EndRequest } from "./end-request.ts";

/**
 * Watermarks end tokens in constant time, however many there are. A watermark has a number; a token has the number of the
 * newest watermark that its maker knew. A watermark ends the tokens in its scope that have a smaller number. So the
 * order is causal: it needs no synchronized clocks, and holds within one millisecond.
 *
 * A token is also ended when an isolate makes it that does not know the watermark yet.
 */

/** How far (ms) the number of a token may be above both the newest watermark that is known and the time of its making. */
const MAX_AHEAD_MS = 86_400_000;

/** What a watermark ends: tokens by the path that made them, those of an entity, or all from a moment on. Made by the functions below. */
export type WatermarkScope = `path:${string}` | `entity:${string}` | `since:${number}`;

/** Tokens whose path is `prefix` without its slash at the end, or lies below it. Tokens without a lease are never meant. */
export function pathScope(prefix: string): WatermarkScope {
  return `path:${prefix}`;
}

/** The prefix of a scope; null for one of another kind. */
export function prefixOf(scope: WatermarkScope): string | null {
  return scope.startsWith("path:") ? scope.slice("path:".length) : null;
}

/** The entity of a scope, by id; null for one of another kind. */
export function entityOf(scope: WatermarkScope): string | null {
  return scope.startsWith("entity:") ? scope.slice("entity:".length) : null;
}

/** Tokens of the entity with this id. */
export function entityScope(entityId: string): WatermarkScope {
  return `entity:${entityId}`;
}

/** Every token that was created at `from` (ms) or later, those without a lease and those of teams too. */
export function sinceScope(from: number): WatermarkScope {
  return `since:${from}`;
}

/** The moment (ms) of a scope from which on tokens are meant; null for one of another kind. */
export function sinceOf(scope: WatermarkScope): number | null {
  return scope.startsWith("since:") ? Number(scope.slice("since:".length)) : null;
}

/** Under this key the index has the watermarks from a moment on, whatever the moment: every token is compared with all of them. */
const SINCE = sinceScope(0);

/** The part of a watermark that the check of a token needs. */
export interface Watermark {
  /** Grows from one to the next, also past a restore of the system object: it is never below the time in ms. */
  readonly number: number;
  readonly scope: WatermarkScope;
  /** Only tokens that were created before this moment (ms) are ended; null: all with a smaller number. */
  readonly createdBefore: number | null;
  /** True when every stored token that it ends has been revoked in its tree: only batch tokens need it then. */
  readonly cleaned: boolean;
  /** Who asked for it; absent when it is cleaned. */
  readonly asked?: EndRequest;
}

/** The properties of a token that watermarks are compared with. They never change. */
export interface JudgedToken {
  readonly path: string;
  readonly leased: boolean;
  /** "" without an entity. */
  readonly entityId: string;
  /** ms. */
  readonly createdAt: number;
  /** The number of the newest watermark that its maker knew; absent when there was none. */
  readonly watermark?: number;
}

type WatermarkIndex = ReadonlyMap<WatermarkScope, readonly Watermark[]>;

/** The watermarks of an installation, prepared for the check of tokens. */
export interface Watermarks {
  /** The number of the newest that there ever was; 0 before the first. What is made now is made above it. */
  readonly newest: number;
  readonly list: readonly Watermark[];
  readonly all: WatermarkIndex;
  /** Those that may end a stored token which its tree does not know to be revoked. */
  readonly open: WatermarkIndex;
}

/** Before the first watermark. */
export const NO_WATERMARKS: Watermarks = { newest: 0, list: [], all: new Map(), open: new Map() };

/**
 * Prepares watermarks.
 *
 * @param before what was prepared last: returned again when nothing has changed, so that what others derived from it stays.
 */
export function indexWatermarks(
  list: readonly Watermark[],
  newest: number,
  before: Watermarks = NO_WATERMARKS,
): Watermarks {
  if (before.newest === newest && sameWatermarks(before.list, list)) return before;
  return { newest, list, all: byScope(list), open: byScope(list.filter(({ cleaned }) => !cleaned)) };
}

/**
 * True when one of the watermarks ends the token. Says nothing about what the token hangs on.
 *
 * @param which "open": those that may end a stored token which its tree does not know to be revoked.
 */
export function isEnded(watermarks: Watermarks, which: "all" | "open", token: JudgedToken): boolean {
  const index = watermarks[which];
  if (index.size === 0) return false;
  const known = knownWatermark(token, watermarks.newest);
  return scopesOf(token).some((scope) => index.get(scope)?.some((mark) => ends(mark, known, token.createdAt)));
}

/** The first of all watermarks that ends the token; null when none does. */
export function endingWatermark(watermarks: Watermarks, token: JudgedToken): Watermark | null {
  const known = knownWatermark(token, watermarks.newest);
  const marks = scopesOf(token).flatMap((scope) => watermarks.all.get(scope) ?? []);
  const ending = marks.filter((mark) => ends(mark, known, token.createdAt));
  return ending.sort((a, b) => a.number - b.number)[0] ?? null;
}

/** True when a watermark ends all that was created at this moment (ms). For tokens of teams, which name no watermark that their maker knew. */
export function isEndedSince({ all }: Watermarks, createdAt: number): boolean {
  return all.get(SINCE)?.some((mark) => createdAt < mark.number && ends(mark, 0, createdAt)) ?? false;
}

/**
 * The newest watermark that the maker of a token knew; 0, which every watermark ends, when there was none and when there can't
 * have been one of that number. A number above `newest` alone proves nothing: another isolate may know a newer watermark. Its
 * number is then about the time, or follows `newest` where the clock of the system object was ahead once.
 */
function knownWatermark({ watermark = 0, createdAt }: JudgedToken, newest: number): number {
  return watermark > Math.max(newest, createdAt) + MAX_AHEAD_MS ? 0 : watermark;
}

function ends({ number, scope, createdBefore }: Watermark, known: number, createdAt: number): boolean {
  return known < number && (createdBefore === null || createdAt < createdBefore) && createdAt >= (sinceOf(scope) ?? 0);
}

/** Every scope that a token is in: that of all, its entity's, and one for each folder of its path. */
function scopesOf({ path, leased, entityId }: JudgedToken): WatermarkScope[] {
  const scopes = entityId === "" ? [SINCE] : [SINCE, entityScope(entityId)];
  if (!leased) return scopes;
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    scopes.push(pathScope(path.slice(0, slash + 1)));
  }
  return [...scopes, pathScope(`${path}/`)];
}

/** When the tokens that a new watermark is to end were created: before a moment in ms, or at any time (null). */
type CreatedBefore = number | null;

/** True when a watermark of the same scope ends everything already that one for `createdBefore` would end. `madeAt` in ms. */
export function covers(
  { createdBefore: existing, madeAt }: { readonly createdBefore: CreatedBefore; readonly madeAt: number },
  createdBefore: CreatedBefore,
): boolean {
  return createdBefore !== null && createdBefore <= (existing ?? madeAt);
}

/** True when a watermark is of no use beside a newer one of the same scope. */
export function isSuperseded(older: CreatedBefore, newer: CreatedBefore): boolean {
  return newer === null || (older !== null && older <= newer);
}

function byScope(list: readonly Watermark[]): WatermarkIndex {
  return Map.groupBy(list, ({ scope }) => (sinceOf(scope) === null ? scope : SINCE));
}

function sameWatermarks(a: readonly Watermark[], b: readonly Watermark[]): boolean {
  return (
    a.length === b.length && a.every((mark, at) => mark.number === b[at]?.number && mark.cleaned === b[at]?.cleaned)
  );
}
