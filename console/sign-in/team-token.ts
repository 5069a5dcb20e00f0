import type { Self } from "../../client/answers.d.ts";

/** The path that creates the tokens of a team. */
const OF_TEAM = /^teams\/[^/]+\/authentication-token$/;
/** The team that manages its organization, whatever its policies are. */
const OWNERS = "owners";

/**
 * Why a team token can do nothing in the console; "" when it can, and for other tokens.
 *
 * @param has the capabilities on each path that a page needs; undefined when they could not be read
 */
export function uselessTeamToken(
  { path, meta }: Pick<Self, "path" | "meta">,
  has: readonly (readonly string[] | undefined)[],
): string {
  const { organization = "", team = "" } = meta ?? {};
  const mayDoSomething = has.some((names) => names?.some((name) => name !== "deny") === true);
  if (!OF_TEAM.test(path) || team === OWNERS || mayDoSomething) return "";
  return `This is a token of the team ${team} of ${organization}. It is for clients, such as Terraform: its policies allow nothing here, so you are not signed in with it.`;
}
