const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;
const SECONDS = /^\d{1,11}$/;

/**
 * Reads a moment as policies and their endpoints take it: RFC 3339, or seconds since 1970.
 *
 * @returns ms since 1970, or null when the text is neither.
 */
export function parseAbsoluteTime(text: string): number | null {
  if (SECONDS.test(text)) return Number(text) * 1000;
  if (!RFC3339.test(text)) return null;
  const time = Date.parse(text.toUpperCase());
  return Number.isNaN(time) || dayOf(text) !== Number(text.slice(8, 10)) ? null : time;
}

/** The day of the month as the calendar has it; some parsers turn 30 February into 2 March instead of refusing it. */
function dayOf(text: string): number {
  return new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate();
}
