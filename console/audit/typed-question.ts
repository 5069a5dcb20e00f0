import { href } from "../href.ts";
import { TEAM_TOKEN } from "../search/found-by-events.ts";
import { isTokenAccessor } from "../tokens/token-accessor.ts";
import { errorHref, requestInError } from "./pasted-error.ts";
import { isAddress } from "./request-id.ts";

/** True for the accessor of a token, and for the id of a team's token. */
const namesToken = (text: string): boolean => isTokenAccessor(text) || TEAM_TOKEN.test(text);

const TIME = /^\d{4}-\d\d(?:-\d\d)?(?:[T ].*)?$/;
const NETWORK = /^[\d.]+\/\d{1,2}$|^[\da-f:]*::?[\da-f:]*\/\d{1,3}$/i;
/** First segments of the paths of the API. */
const ROOTS = ["api", "auth", "cubbyhole", "identity", "organizations", "sys", "teams"];

/** Why the audit log can't be searched for a text; "" when it can. */
export function unaskable(text: string): string {
  if (TIME.test(text)) return "A time belongs into From and To";
  if (NETWORK.test(text)) return "Events are found by one address, not by a network";
  return "";
}

/** True for a text that may be the name of an entity or a token: it has no form of its own, and begins no path. */
export const mayBeName = (text: string): boolean =>
  !text.includes("/") && !isAddress(text) && !namesToken(text) && !ROOTS.some((root) => root.startsWith(text));

/** The times of the page of the audit log, which stay when another text is looked for. */
export interface AskedTimes {
  /** RFC 3339; "" for none. */
  readonly since: string;
  readonly until: string;
}

/**
 * The page with the events of an address, of an accessor's token as the actor, or at a path.
 *
 * @param isCredential true for the accessor of a secret-id or the id of a team's token that the store has events of
 */
export function placeOf(text: string, times: AskedTimes, isCredential = false): string {
  if (isCredential) return href(["audit"], { accessor: text, ...times });
  const error = requestInError(text);
  if (error) return errorHref(error, { ...times });
  if (isAddress(text)) return href(["audit"], { address: text, ...times });
  return href(["audit"], { ...(namesToken(text) ? { actor: text } : { path: text }), ...times });
}
