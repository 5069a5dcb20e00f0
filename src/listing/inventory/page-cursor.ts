import type { ListedToken } from "./entry.ts";

export interface Order {
  readonly by: "created" | "end";
  readonly descending: boolean;
}

/** Tokens of two shards may have equal keys and ids, so the number of the shard is the last part. */
export interface OrderPosition {
  readonly key: number;
  readonly id: number;
  readonly shard: number;
}

export interface ShardQuery<Filter> {
  readonly filter: Filter;
  /** The page begins after this; null: at the beginning. */
  readonly after: OrderPosition | null;
  readonly shard: number;
  readonly limit: number;
}

/** Tokens of one shard in order. */
export interface ShardPage<Token> {
  readonly tokens: readonly Token[];
  /** The page has all matching tokens up to this position; null: up to the end. */
  readonly upTo: OrderPosition | null;
  readonly scanned: number;
}

/** Tokens of all shards in order. */
export interface TokenPage<Token> {
  readonly tokens: readonly Token[];
  /** The next page begins after this; null after the last. */
  readonly next: OrderPosition | null;
  readonly scanned: number;
}

/** Sort key of a token that never expires: after every time that a clock can show. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export function keyOf(token: Pick<ListedToken, "id" | "expiresAt">, by: Order["by"]): number {
  return by === "created" ? token.id : (token.expiresAt ?? NEVER);
}

/** Negative when `a` comes before `b` in the order. */
export function comparePositions(a: OrderPosition, b: OrderPosition, { descending }: Order): number {
  const ascending = a.key - b.key || a.id - b.id || a.shard - b.shard;
  return descending ? -ascending : ascending;
}

/** A token as a page judges it. */
export interface PlacedToken<Token> {
  readonly token: Token;
  readonly position: OrderPosition;
  readonly isSelected: boolean;
}

/**
 * Scans rows of a shard in order, until the page is full or `most` were read. The first row may be the one at `after`,
 * which is left out: tokens of several shards can have equal keys and ids. A SQL cursor is lazy: rows after the page
 * are never read.
 */
export function scanPage<Row, Token>(
  rows: Iterable<Row>,
  order: Order,
  { after, limit }: Pick<ShardQuery<unknown>, "after" | "limit">,
  most: number,
  placed: (row: Row) => PlacedToken<Token>,
): ShardPage<Token> {
  const tokens: Token[] = [];
  let scanned = 0;
  let upTo: OrderPosition | null = null;
  for (const row of rows) {
    const { token, position, isSelected } = placed(row);
    if (after !== null && comparePositions(position, after, order) <= 0) continue;
    if (scanned >= most || tokens.length >= limit) return { tokens, upTo, scanned };
    scanned++;
    upTo = position;
    if (isSelected) tokens.push(token);
  }
  return { tokens, upTo: null, scanned };
}

/** Sorts tokens and returns the first `limit`. `last`: position of the last of these if more follow; else null. */
export function firstInOrder<Token>(
  placed: readonly Omit<PlacedToken<Token>, "isSelected">[],
  order: Order,
  limit: number,
): { readonly tokens: readonly Token[]; readonly last: OrderPosition | null } {
  const page = placed.toSorted((a, b) => comparePositions(a.position, b.position, order)).slice(0, limit);
  const last = placed.length > limit ? (page.at(-1)?.position ?? null) : null;
  return { tokens: page.map(({ token }) => token), last };
}

/** The order, then key, id and shard as integers with points between. */
const CURSOR = /^(c|e)(a|d)(\d{1,16})\.(\d{1,16})\.(\d{1,4})$/;

/** Formats a position as a cursor for clients. It contains the order, so that it can't be used with another one. */
export function cursorText({ by, descending }: Order, { key, id, shard }: OrderPosition): string {
  return `${by === "created" ? "c" : "e"}${descending ? "d" : "a"}${key}.${id}.${shard}`;
}

/** Parses a cursor for `order`. Returns null for a text that is no cursor, or a cursor of another order. */
export function readCursor(order: Order, text: string): OrderPosition | null {
  const match = CURSOR.exec(text);
  if (!match) return null;
  const position = { key: Number(match[3]), id: Number(match[4]), shard: Number(match[5]) };
  if (!Number.isSafeInteger(position.key) || !Number.isSafeInteger(position.id)) return null;
  return cursorText(order, position) === text ? position : null;
}
