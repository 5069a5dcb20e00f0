import type { Token } from "../../client/answers.d.ts";

/** The display name of a token that was made without one. */
const UNNAMED = "token";

export const nameOf = (token: Token): string => token.display_name || UNNAMED;

const isNamed = (token: Token): boolean => nameOf(token) !== UNNAMED;

/** True for a token that holds a wrapped answer: it has this policy alone, which no other token can have. */
export const isWrapping = ({ policies }: Pick<Token, "policies">): boolean => policies.includes("response-wrapping");

/** The title of the page of a token. A wrapping token has no name. */
export const titleOf = (token: Token): string => (isWrapping(token) ? "wrapping token" : nameOf(token));

/** Most metadata pairs, and policies, that are named. */
const PAIRS = 2;
const POLICIES = 3;

const pairsText = ({ metadata }: Token): string =>
  Object.entries(metadata)
    .slice(0, PAIRS)
    .map(([key, value]) => `${key}=${value}`)
    .join(" · ");

/** Most tokens were made at this path, so it distinguishes none. */
const USUAL_PATH = "auth/token/create";

/**
 * What distinguishes a token from others of the same name: its metadata; without a name and metadata its next ancestor
 * with a name, its policies and the path that made it.
 */
export function detailText(token: Token, above = ""): string {
  const pairs = pairsText(token);
  if (pairs !== "" || isNamed(token)) return pairs;
  const { policies, path } = token;
  const given = policies.filter((name) => name !== "default");
  return [
    above === "" ? "" : `below ${above}`,
    (given.length > 0 ? given : policies).slice(0, POLICIES).join(", "),
    path === USUAL_PATH ? "" : path,
  ]
    .filter((text) => text !== "")
    .join(" · ");
}

/**
 * The name of the next ancestor with a name, for a token without one; "" when the token has a name, or that ancestor is
 * not among the known tokens.
 *
 * @param known by accessor
 */
export function namedAncestor(token: Token, known: ReadonlyMap<string, Token>): string {
  if (isNamed(token)) return "";
  let above = known.get(token.parent ?? "");
  while (above && !isNamed(above)) above = known.get(above.parent ?? "");
  return above ? nameOf(above) : "";
}
