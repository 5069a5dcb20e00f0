import { parseRfc3339 } from "../base/rfc3339.ts";

const SECONDS = /^\d{1,11}$/;

/**
 * Reads a moment as policies and their endpoints take it: RFC 3339, or seconds since 1970.
 *
 * @returns ms since 1970, or null when the text is neither.
 */
export function parseAbsoluteTime(text: string): number | null {
  return SECONDS.test(text) ? Number(text) * 1000 : parseRfc3339(text.toUpperCase());
}
