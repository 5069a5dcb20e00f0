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
