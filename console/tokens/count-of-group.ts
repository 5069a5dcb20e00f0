import type { TokenSummary } from "../../client/answers.d.ts";

/** Most groups that a count names, the largest. */
export const MOST_COUNTED = 1_000;

/** The number of tokens in a group; null when it is not known, as the count names the largest groups alone. */
export function countOfGroup({ groups }: Pick<TokenSummary, "groups">, wanted: string): number | null {
  const named = groups.find(({ key }) => key === wanted);
  return named?.count ?? (groups.length < MOST_COUNTED ? 0 : null);
}
