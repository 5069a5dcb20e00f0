import { hasToken, looksChosen, mayBeToken } from "../secret-detection.ts";
import type { Session } from "../session.ts";
import { isUuid } from "../uuid.ts";
import { textItself } from "./find-tokens.ts";
import { namesOf } from "./kept-names.ts";
import { matching } from "./search-result.ts";

export const TOKEN_TYPED =
  "This is a token, or looks like one, and no address may have it: the search (Ctrl K) says what it is";

/**
 * Why typed texts must not become part of a URL; "" when they may. The server is asked in a body whether one of them is
 * a token.
 */
export async function refusalOfParts(session: Session, texts: readonly string[]): Promise<string> {
  for (const text of texts) {
    if (hasToken(text)) return TOKEN_TYPED;
    // A name may end in `*`, for a prefix.
    const name = text.replace(/\*$/, "");
    if (mayBeToken(name) && (await textItself(session, name)).isKept) return TOKEN_TYPED;
  }
  return "";
}

/** The same for a path. Of its parts only those that may be tokens by their form are asked about. */
export const refusalOfPath = (session: Session, path: string): Promise<string> =>
  refusalOfParts(session, path.split("/").filter(looksChosen));

export const UNKNOWN_ID = "Nothing is known by this id. It may be a secret-id, so no address gets it";

/** True for an id that no entity, alias or other name has: it may be a secret-id. */
export const isUnknownId = async (session: Session, text: string): Promise<boolean> =>
  isUuid(text) && matching(await namesOf(session, Date.now()), text).length === 0;
