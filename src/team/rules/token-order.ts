import { nameKey } from "../../base/case-folding.ts";
import type { ListedTeamToken } from "../record.ts";

/** The sort keys of a list of team tokens. */
export const TOKEN_SORTS = ["team-name", "created-by", "expired-at", "last-used-at"] as const;
type TokenSort = (typeof TOKEN_SORTS)[number];

/** An order of team tokens. Tokens without the time that is the sort key come last, in reverse order first. */
export interface TokenOrder {
  readonly sort: TokenSort;
  readonly reverse: boolean;
}

/** Reads the `sort` parameter: a sort key, with `-` before it for the reverse order. null for another text. */
export function readTokenOrder(text = ""): TokenOrder | null {
  if (text === "") return { sort: "expired-at", reverse: false };
  const reverse = text.startsWith("-");
  const sort = TOKEN_SORTS.find((name) => name === (reverse ? text.slice(1) : text));
  return sort ? { sort, reverse } : null;
}

/** Sorts after every time. */
const NO_TIME = Number.MAX_SAFE_INTEGER;

/** For each sort key the column of the list, and the value for a token. */
export const SORT_COLUMNS: Readonly<
  Record<TokenSort, { column: string; keyOf: (listed: ListedTeamToken) => string | number }>
> = {
  "team-name": { column: "name_key", keyOf: ({ team }) => nameKey(team.name) },
  "created-by": { column: "created_by_key", keyOf: ({ token }) => nameKey(token.createdBy.name) },
  "expired-at": { column: "expired_at_key", keyOf: ({ token }) => token.expiresAt ?? NO_TIME },
  "last-used-at": { column: "last_used_at_key", keyOf: ({ token }) => token.lastUsedAt ?? NO_TIME },
};
