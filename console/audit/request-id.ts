import { count, counted } from "../format.ts";
import { isUuid } from "../uuid.ts";

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:.]+$/i;

/** True for a text with the form of a request's id. */
export const isRequestId = isUuid;

const PART = /^[0-9a-f]{8}(?:-[0-9a-f-]{0,26})?$/i;

/** True for a text that may be the beginning of a request's id. */
export const isPartOfId = (text: string): boolean => PART.test(text);

const SHORT = /^[0-9a-f]{4,7}$/i;

/** True for a text that may be the beginning of a request's id, and is too short to find it. */
export const isShortPart = (text: string): boolean => SHORT.test(text);

export const SHORT_TEXT = "Of a request id type at least its first 8 characters.";

/** A whole id after its name, as headers, logs and messages of clients have it. */
const NAMED = /\brequest(?:[ _-]?id)?["']?\s*[:=]?\s*["']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/i;

/** The id in a text such as `request a4911dd8`, or in a pasted line that names a whole one; other texts as they are. */
export function idIn(text: string): string {
  const [, whole] = NAMED.exec(text) ?? [];
  if (whole !== undefined) return whole;
  const [, id = ""] = /^request(?:[ _-]?id)?:?\s+(\S+)$/i.exec(text) ?? [];
  return isRequestId(id) || isPartOfId(id) || isShortPart(id) ? id : text;
}

/** What the text of the field of the audit log was looked for as; "" when all events are shown. */
export function lookedForText(address: string, path: string): string {
  if (address !== "") return "Looked for as the address of a client.";
  if (path === "") return "";
  return `Looked for as the beginning of a path.${isShortPart(path) ? ` ${SHORT_TEXT}` : ""}`;
}

/** Events that are searched for the beginning of an id, since the store finds events only by the hash of a whole id. */
export const LOOKED_THROUGH = 1_000;

/** The message about the beginning of an id, with the number of requests found. */
export const beginningText = (found: number): string =>
  `${found === 0 ? "No request" : counted(found, "request")} of the last ${count(LOOKED_THROUGH)} events ${found > 1 ? "begin" : "begins"} so: ${found === 0 ? "of an older one the whole id is needed, 36 characters" : "type more of the id"}`;

/** True for a text with the form of a client's address. */
export const isAddress = (text: string): boolean => IPV4.test(text) || IPV6.test(text);
