import type { EndRequest } from "./end-request.ts";

/**
 * Watermarks end any number of tokens in constant time. A watermark has a number. A token carries the number of the
 * newest watermark that the isolate which created it knew. A watermark ends the tokens in its scope that carry a
 * smaller number. So the order is causal: it needs no synchronized clocks, and it holds within one millisecond.
 *
 * A watermark also ends a token that is created after it by an isolate that does not know it yet.
 */

/** A token's watermark number may be this far (ms) above both the newest known watermark and the creation time. */
const MAX_AHEAD_MS = 86_400_000;

/** The tokens that a watermark ends: by path, by entity, or all since a time (ms). Made by the functions below. */
export type WatermarkScope = `path:${string}` | `entity:${string}` | `since:${number}`;

/** Scope of tokens whose path is `prefix` without its trailing slash, or below it. Excludes tokens without a lease. */
export function pathScope(prefix: string): WatermarkScope {
  return `path:${prefix}`;
}

/** The prefix of a path scope; null for a scope of another kind. */
export function prefixOf(scope: WatermarkScope): string | null {
  return scope.startsWith("path:") ? scope.slice("path:".length) : null;
}

/** The entity id of an entity scope; null for a scope of another kind. */
export function entityOf(scope: WatermarkScope): string | null {
  return scope.startsWith("entity:") ? scope.slice("entity:".length) : null;
}

/** Scope of the tokens of the entity with this id. */
export function entityScope(entityId: string): WatermarkScope {
  return `entity:${entityId}`;
}

/** Scope of every token created at `from` (ms) or later, including tokens without a lease and tokens of teams. */
export function sinceScope(from: number): WatermarkScope {
  return `since:${from}`;
}

/** The earliest creation time (ms) of the tokens in a `since` scope; null for a scope of another kind. */
export function sinceOf(scope: WatermarkScope): number | null {
  return scope.startsWith("since:") ? Number(scope.slice("since:".length)) : null;
}

/** Index key of all watermarks with a `since` scope, whatever their time: every token is compared with all of them. */
const SINCE = sinceScope(0);

/** The part of a watermark that the check of a token needs. */
export interface Watermark {
  /** Increases from one watermark to the next. Never below the time in ms, so that it increases past a restore too. */
  readonly number: number;
  readonly scope: WatermarkScope;
  /** Ends only tokens that were created before this time (ms); null: all with a smaller number. */
  readonly createdBefore: number | null;
  /** True when all tokens that it ends in trees have been revoked. Batch tokens and tokens of teams still need it. */
  readonly cleaned: boolean;
  /** The caller and the request that asked for it; absent when it is cleaned. */
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
  /** Number of the newest watermark that the isolate which created the token knew; absent when there was none. */
  readonly watermark?: number;
}

type WatermarkIndex = ReadonlyMap<WatermarkScope, readonly Watermark[]>;

/**
 * The watermarks of an installation, indexed for the validation of tokens. Caches compare it by identity: it is a new
 * object only when a watermark has changed.
 */
export interface Watermarks {
  /** Number of the newest watermark ever made; 0 before the first. New tokens carry it. */
  readonly newest: number;
  readonly all: WatermarkIndex;
  /** The watermarks that are not cleaned: they may end a stored token that its tree has not revoked yet. */
  readonly open: WatermarkIndex;
}

/** The index without any watermark. */
export const NO_WATERMARKS: Watermarks = { newest: 0, all: new Map(), open: new Map() };

/** Indexes watermarks by scope. */
export function indexWatermarks(list: readonly Watermark[], newest: number): Watermarks {
  return { newest, all: byScope(list), open: byScope(list.filter(({ cleaned }) => !cleaned)) };
}

/**
 * True when one of the watermarks ends the token. Does not check the token's ancestors.
 *
 * @param which "open": only the watermarks that are not cleaned, see `Watermarks`.
 */
export function isEnded(watermarks: Watermarks, which: "all" | "open", token: JudgedToken): boolean {
  const index = watermarks[which];
  if (index.size === 0) return false;
  const known = knownWatermark(token, watermarks.newest);
  return scopesOf(token).some((scope) => index.get(scope)?.some((mark) => ends(mark, known, token.createdAt)));
}

/** The watermark with the smallest number that ends the token; null when none does. */
export function endingWatermark(watermarks: Watermarks, token: JudgedToken): Watermark | null {
  const known = knownWatermark(token, watermarks.newest);
  const marks = scopesOf(token).flatMap((scope) => watermarks.all.get(scope) ?? []);
  const ending = marks.filter((mark) => ends(mark, known, token.createdAt));
  return ending.sort((a, b) => a.number - b.number)[0] ?? null;
}

/**
 * True when a watermark with a `since` scope ends what was created at this time (ms). For tokens of teams: they carry
 * no watermark number, so their creation time is compared with the number of the watermark.
 */
export function isEndedSince({ all }: Watermarks, createdAt: number): boolean {
  return all.get(SINCE)?.some((mark) => createdAt < mark.number && ends(mark, 0, createdAt)) ?? false;
}

/**
 * Returns the number of the newest watermark that the isolate which created a token knew. Returns 0, which every
 * watermark ends, when there was none and when no watermark can have the token's number. A number above `newest` is
 * possible: the other isolate may have known a newer watermark. Such a number is close to the creation time, or it is
 * close to `newest` when the clock of the System object was ahead once.
 */
function knownWatermark({ watermark = 0, createdAt }: JudgedToken, newest: number): number {
  return watermark > Math.max(newest, createdAt) + MAX_AHEAD_MS ? 0 : watermark;
}

function ends({ number, scope, createdBefore }: Watermark, known: number, createdAt: number): boolean {
  return known < number && (createdBefore === null || createdAt < createdBefore) && createdAt >= (sinceOf(scope) ?? 0);
}

/** Index keys of every scope that a token is in: `SINCE`, its entity, and each folder of its path. */
function scopesOf({ path, leased, entityId }: JudgedToken): WatermarkScope[] {
  const scopes = entityId === "" ? [SINCE] : [SINCE, entityScope(entityId)];
  if (!leased) return scopes;
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    scopes.push(pathScope(path.slice(0, slash + 1)));
  }
  return [...scopes, pathScope(`${path}/`)];
}

/** A watermark ends tokens that were created before this time (ms); null: tokens of any creation time. */
type CreatedBefore = number | null;

/** True when an existing watermark of the same scope ends all that one with `createdBefore` would. `madeAt` in ms. */
export function covers(
  { createdBefore: existing, madeAt }: { readonly createdBefore: CreatedBefore; readonly madeAt: number },
  createdBefore: CreatedBefore,
): boolean {
  return createdBefore !== null && createdBefore <= (existing ?? madeAt);
}

/** True when a newer watermark of the same scope ends everything that the older one ends. */
export function isSuperseded(older: CreatedBefore, newer: CreatedBefore): boolean {
  return newer === null || (older !== null && older <= newer);
}

function byScope(list: readonly Watermark[]): WatermarkIndex {
  return Map.groupBy(list, ({ scope }) => (sinceOf(scope) === null ? scope : SINCE));
}
