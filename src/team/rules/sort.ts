/** What a list of team tokens can be sorted by. */
export const TOKEN_SORTS = ["team-name", "created-by", "expired-at", "last-used-at"] as const;

/** One of the orders of team tokens. Tokens without the time that is sorted by come last. */
export type TokenSort = (typeof TOKEN_SORTS)[number];

/** An order of team tokens, either way round. */
export interface TokenOrder {
  readonly sort: TokenSort;
  readonly reverse: boolean;
}

/** Tokens that end first come first. */
const DEFAULT_ORDER: TokenOrder = { sort: "expired-at", reverse: false };

/** Reads the `sort` parameter: a name, with `-` before it for the reverse order. null when it is not one. */
export function readTokenOrder(text: string | undefined): TokenOrder | null {
  if (text === undefined || text === "") return DEFAULT_ORDER;
  const reverse = text.startsWith("-");
  const sort = TOKEN_SORTS.find((name) => name === (reverse ? text.slice(1) : text));
  return sort ? { sort, reverse } : null;
}
