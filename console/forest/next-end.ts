import { type Item, treesIn } from "./token-map.ts";

/**
 * When the tree of an item ends, or the first of a group of trees; null: none ends. It is undefined unless all trees of
 * the group are named: another one may end before.
 */
export function nextEndOf(item: Item): string | null | undefined {
  if (item.token) return item.token.expires;
  const { joined = [] } = item;
  if (joined.length === 0 || joined.length < treesIn(item)) return undefined;
  const ends = joined.flatMap(({ token }) => (token?.expires ? [token.expires] : []));
  return ends.sort()[0] ?? null;
}
