import type { ListedToken } from "./entry.ts";

/** What tokens are sorted by. */
export type SortKey = "created" | "end";

/** The order of a page. */
export interface Order {
  readonly by: SortKey;
  readonly descending: boolean;
}

/** A place in an order. Shards may have tokens with equal keys and ids, so the last part is the number of the shard. */
export interface Position {
  readonly key: number;
  readonly id: number;
  readonly shard: number;
}

/** What one shard is asked for a page of. */
export interface ShardQuery<Filter> {
  readonly filter: Filter;
  /** The page begins after this; null: at the beginning. */
  readonly after: Position | null;
  /** Number of the shard. */
  readonly shard: number;
  readonly limit: number;
}

/** Tokens of one shard in order. */
export interface ShardPage<Token> {
  readonly tokens: readonly Token[];
  /** All that is meant up to here is in the page; null: to the end. */
  readonly upTo: Position | null;
  /** Tokens looked at. */
  readonly scanned: number;
}

/** Tokens of all shards in order. */
export interface TokenPage<Token> {
  readonly tokens: readonly Token[];
  /** The next page begins after this; null after the last. */
  readonly next: Position | null;
  /** Tokens looked at. */
  readonly scanned: number;
}

/** The end of a token that never ends, in an order: after every moment that a clock can show. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** What a token is sorted by. */
export function keyOf(token: Pick<ListedToken, "id" | "expiresAt">, by: SortKey): number {
  return by === "created" ? token.id : (token.expiresAt ?? NEVER);
}

/** Negative when `a` comes before `b` in the order. */
export function comparePositions(a: Position, b: Position, { descending }: Order): number {
  const ascending = a.key - b.key || a.id - b.id || a.shard - b.shard;
  return descending ? -ascending : ascending;
}

/** The first `limit` of some tokens, and the position of the last one when there are more; else null. */
export function firstInOrder<Token>(
  placed: readonly { readonly token: Token; readonly position: Position }[],
  order: Order,
  limit: number,
): { readonly tokens: readonly Token[]; readonly last: Position | null } {
  const page = placed.toSorted((a, b) => comparePositions(a.position, b.position, order)).slice(0, limit);
  const last = placed.length > limit ? (page.at(-1)?.position ?? null) : null;
  return { tokens: page.map(({ token }) => token), last };
}

/** Whole numbers with a point between: key, id and shard. */
const CURSOR = /^(c|e)(a|d)(\d{1,16})\.(\d{1,16})\.(\d{1,4})$/;

/** A position as clients get it. It names its order, so that it can't be taken for one of another order. */
export function cursorText({ by, descending }: Order, { key, id, shard }: Position): string {
  return `${by === "created" ? "c" : "e"}${descending ? "d" : "a"}${key}.${id}.${shard}`;
}

/** Reads a cursor for `order`. Null for a text that is none, or of another order. */
export function readCursor(order: Order, text: string): Position | null {
  const match = CURSOR.exec(text);
  if (!match) return null;
  const position = { key: Number(match[3]), id: Number(match[4]), shard: Number(match[5]) };
  if (!Number.isSafeInteger(position.key) || !Number.isSafeInteger(position.id)) return null;
  return cursorText(order, position) === text ? position : null;
}
