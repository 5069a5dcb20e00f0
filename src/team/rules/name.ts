/** Longest name of a team or an organization. */
export const MAX_NAME_LENGTH = 90;

const NAME = /^[A-Za-z0-9_-]+$/;

/**
 * What is wrong with the name of a team or organization as a phrase, or null. Names are parts of paths that policies
 * match, so nothing is in them that a path could spell in two ways.
 */
export function nameProblem(value: unknown): string | null {
  if (typeof value !== "string" || value === "") return "can't be blank";
  if (value.length > MAX_NAME_LENGTH) return `is too long (at most ${MAX_NAME_LENGTH} characters)`;
  return NAME.test(value) ? null : "may only hold letters, digits, - and _";
}

/** What two names have in common that count as the same: their case does not matter. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
