import type { ListingEnv } from "../env.ts";
import type { ListedToken } from "./entry.ts";
import { findInInventory } from "./queries.ts";

/**
 * Adds the last uses that only the list knows. A tree keeps them in memory and forgets them when it is evicted; a use
 * that a tree knows is never older than that of the list.
 *
 * @returns a function that adds the last use to one of these tokens.
 */
export async function withLastUses(
  env: ListingEnv,
  tokens: readonly ListedToken[],
): Promise<(token: ListedToken) => ListedToken> {
  const unused = tokens.flatMap(({ accessor, lastUsed }) => (lastUsed === null ? [accessor] : []));
  const listed = await findInInventory(env, unused);
  return (token) => ({ ...token, lastUsed: token.lastUsed ?? listed.get(token.accessor)?.lastUsed ?? null });
}
