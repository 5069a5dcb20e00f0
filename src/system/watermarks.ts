import type { Ms } from "../base/clock.ts";
import { err, invalid, ok, type Result } from "../base/result.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/tables.ts";
import { SystemStore, type SystemTables } from "./part-versions.ts";
import { NO_ORIGIN, type RevocationOrigin } from "./revocation-origin.ts";

/**
 * Watermarks end any number of tokens in constant time. A watermark has a number. A token carries the number of the
 * newest watermark that the isolate which created it knew. A watermark ends the tokens in its scope that carry a
 * smaller number. So the order is causal: it needs no synchronized clocks, and it holds within one millisecond.
 *
 * A watermark also ends a token that is created after it by an isolate that does not know it yet.
 */

/** A token's watermark number may be this far above both the newest known watermark and the creation time. */
const MAX_AHEAD_MS = 86_400_000;

/** The tokens that a watermark ends: by path, by entity, or all since a time. Made by the functions below. */
export type WatermarkScope = `path:${string}` | `entity:${string}` | `since:${Ms}`;

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

export function entityScope(entityId: string): WatermarkScope {
  return `entity:${entityId}`;
}

/** Scope of every token created at `from` or later, including tokens without a lease and registered credentials. */
export function sinceScope(from: Ms): WatermarkScope {
  return `since:${from}`;
}

/** The earliest creation time of the tokens in a `since` scope; null for a scope of another kind. */
export function sinceOf(scope: WatermarkScope): Ms | null {
  return scope.startsWith("since:") ? Number(scope.slice("since:".length)) : null;
}

/** Index key of all watermarks with a `since` scope, whatever their time: every token is compared with all of them. */
const SINCE = sinceScope(0);

/** The part of a watermark that the check of a token needs. */
export interface Watermark {
  /** Increases from one watermark to the next. Never below the time in ms, so that it increases past a restore too. */
  readonly number: number;
  readonly scope: WatermarkScope;
  /** Ends only tokens that were created before this time; null: all with a smaller number. */
  readonly createdBefore: Ms | null;
  /** True when all listed tokens that it ends are revoked. It still ends unlisted and batch tokens and credentials. */
  readonly cleaned: boolean;
  /** The caller and the request that asked for it; absent when it is cleaned. */
  readonly asked?: RevocationOrigin;
}

/** The properties of a token that watermarks are compared with. They never change. */
export interface JudgedToken {
  readonly path: string;
  readonly leased: boolean;
  /** "" without an entity. */
  readonly entityId: string;
  readonly createdAt: Ms;
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
  /** The watermarks that are not cleaned: they may end a listed token that its tree has not revoked yet. */
  readonly open: WatermarkIndex;
}

export const NO_WATERMARKS: Watermarks = { newest: 0, all: new Map(), open: new Map() };

/** Indexes watermarks by scope. `newest`: number of the newest one ever made. */
export function indexWatermarks(list: readonly Watermark[], newest: number): Watermarks {
  return { newest, all: byScope(list), open: byScope(list.filter(({ cleaned }) => !cleaned)) };
}

/**
 * True when one of the watermarks ends the token. Does not check the token's ancestors. `which` is "open" for only the
 * watermarks that are not cleaned, see `Watermarks`.
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
 * True when a watermark with a `since` scope ends what was created at this time. For registered credentials: they
 * carry no watermark number, so their creation time is compared with the number of the watermark.
 */
export function isEndedSince({ all }: Watermarks, createdAt: Ms): boolean {
  return all.get(SINCE)?.some((mark) => createdAt < mark.number && ends(mark, 0, createdAt)) ?? false;
}

/**
 * The number of the newest watermark that was known where the token was created. 0, which every watermark ends, if
 * none was known or the number is impossible. It may be above `newest`, because another isolate may know newer
 * watermarks. It is then close to the creation time, or to `newest` if the clock of the System object was once ahead.
 */
function knownWatermark({ watermark = 0, createdAt }: JudgedToken, newest: number): number {
  return watermark > Math.max(newest, createdAt) + MAX_AHEAD_MS ? 0 : watermark;
}

function ends({ number, scope, createdBefore }: Watermark, known: number, createdAt: Ms): boolean {
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

/** True when `existing` ends every token that a new watermark of the same scope with `createdBefore` would end. */
export function covers(
  existing: Pick<StoredWatermark, "createdBefore" | "madeAt">,
  createdBefore: Watermark["createdBefore"],
): boolean {
  return createdBefore !== null && createdBefore <= (existing.createdBefore ?? existing.madeAt);
}

/** True when a watermark with `createdBefore` `newer` ends everything that the older one of the same scope ends. */
export function isSuperseded(older: Watermark["createdBefore"], newer: Watermark["createdBefore"]): boolean {
  return newer === null || (older !== null && older <= newer);
}

function byScope(list: readonly Watermark[]): WatermarkIndex {
  return Map.groupBy(list, ({ scope }) => (sinceOf(scope) === null ? scope : SINCE));
}

/** Maximum number of watermarks of an installation: every isolate keeps all of them. */
export const MAX_WATERMARKS = 4096;

const TOO_MANY = invalid(
  `too many revocations are remembered (${MAX_WATERMARKS}): each is kept until the last batch token from before it has ended`,
);

export interface WatermarkRequest extends Pick<Watermark, "scope" | "createdBefore"> {
  /** Id of the request. A repeated request with the same id makes no second watermark. */
  readonly id: string;
  /** The caller and the request that ask for it; absent: not known. */
  readonly asked?: RevocationOrigin;
}

/** A watermark with the fields that only operators see. */
export interface StoredWatermark extends Watermark {
  readonly id: string;
  readonly asked: RevocationOrigin;
  readonly madeAt: Ms;
  readonly cleanedAt: Ms | null;
}

interface WatermarkRow extends Record<string, SqlStorageValue> {
  number: number;
  id: string;
  scope: WatermarkScope;
  created_before: Ms | null;
  made_at: Ms;
  cleaned_at: Ms | null;
  asked: string;
}

/** `cleaned_at` is not sealed: an attacker who can write it could as well delete the row. */
const SHAPE: TableShape = {
  table: "watermarks",
  kind: "watermark",
  key: ["number"],
  sealed: ["id", "scope", "created_before", "made_at", "asked"],
};

/**
 * The table of watermarks. One that was tampered with counts as absent. The newest is never dropped: new tokens carry
 * its number, which is sealed. So an attacker who writes the storage can't make new tokens carry a number above later
 * watermarks.
 */
export class WatermarkStore extends SystemStore {
  readonly #sealed = new SealedTable<WatermarkRow>(this.sql, this.seals, SHAPE);
  readonly #maxTokenAgeMs: () => Ms;

  /**
   * @param maxTokenAgeMs time after the making of a watermark by which every batch token that it ends has expired,
   *   also one from an isolate that did not know the watermark yet.
   */
  constructor(tables: SystemTables, maxTokenAgeMs: () => Ms) {
    super(tables);
    this.#maxTokenAgeMs = maxTokenAgeMs;
  }

  all(): StoredWatermark[] {
    return this.#sealed.list("ORDER BY number").map(storedWatermark);
  }

  /** The watermarks for isolates, and the number of the newest watermark ever made; 0 before the first. */
  snapshot() {
    const stored = this.all();
    const list = stored.map(({ number, scope, createdBefore, cleaned, asked }): Watermark => {
      // `asked` is recorded for ended tokens in trees. A cleaned watermark has none left.
      return { number, scope, createdBefore, cleaned, ...(!cleaned && { asked }) };
    });
    return { list, newest: newestOf(stored) };
  }

  numberOf(id: string): number | null {
    return this.#sealed.list("WHERE id = ?", id)[0]?.number ?? null;
  }

  /**
   * Makes a watermark with a number above all earlier ones, and returns the number. It replaces the watermarks of the
   * same scope that end nothing more. If one of the same scope already ends as much, its number is returned instead.
   * Refused when there are `MAX_WATERMARKS`.
   */
  add({ id, scope, createdBefore, asked = NO_ORIGIN }: WatermarkRequest, now: Ms): Result<number> {
    this.#dropOld(now);
    const stored = this.all();
    const known = stored.find((other) => other.id === id);
    if (known) return ok(known.number);
    const others = stored.filter((other) => other.scope === scope);
    const enough = others.find((other) => covers(other, createdBefore));
    if (enough) return ok(enough.number);
    const superseded = others.filter((other) => isSuperseded(other.createdBefore, createdBefore));
    if (this.#sealed.count() - superseded.length >= MAX_WATERMARKS) return err(TOO_MANY);
    for (const { number } of superseded) this.#sealed.delete(number);
    // Not below the time, so that an object that is restored to an earlier state repeats no number.
    const number = Math.max(newestOf(stored) + 1, now);
    // `all()` returned no watermark with this id, so a row that has the id was tampered with.
    this.sql.exec("DELETE FROM watermarks WHERE id = ?", id);
    const row = { number, id, scope, created_before: createdBefore, made_at: now, cleaned_at: null };
    this.#sealed.put({ ...row, asked: JSON.stringify(asked) });
    this.changed("watermarks");
    return ok(number);
  }

  clean(scope: WatermarkScope | null, upTo: number, now: Ms): void {
    const which = "cleaned_at IS NULL AND number <= ? AND scope = COALESCE(?, scope)";
    const cleaned = this.sql.exec(`UPDATE watermarks SET cleaned_at = ? WHERE ${which}`, now, upTo, scope);
    if (cleaned.rowsWritten > 0) this.changed("watermarks");
    this.#dropOld(now);
  }

  /**
   * Drops cleaned watermarks once all batch tokens that they end have expired: only watermarks end batch tokens. The
   * newest stays. Watermarks with a `since` scope stay too, as no clean-up revokes registered credentials.
   */
  #dropOld(now: Ms): void {
    const which = "cleaned_at IS NOT NULL AND made_at < ? AND number < ? AND scope NOT LIKE 'since:%'";
    const values = [now - this.#maxTokenAgeMs(), newestOf(this.all())];
    const dropped = this.sql.exec(`DELETE FROM watermarks WHERE ${which}`, ...values);
    if (dropped.rowsWritten > 0) this.changed("watermarks");
  }
}

/** The number of the newest of `stored`, which are sorted by number; 0 without any. */
function newestOf(stored: readonly StoredWatermark[]): number {
  return stored.at(-1)?.number ?? 0;
}

function storedWatermark({ number, id, scope, ...row }: WatermarkRow): StoredWatermark {
  const { created_before: createdBefore, made_at: madeAt, cleaned_at: cleanedAt } = row;
  const asked = storedJson<RevocationOrigin>(row.asked);
  return { number, id, scope, createdBefore, madeAt, cleanedAt, cleaned: cleanedAt !== null, asked };
}
