/** Longest name of a team or an organization. */
export const MAX_NAME_LENGTH = 90;

/** Longest description of a token. */
const MAX_DESCRIPTION_LENGTH = 255;

const ORGANIZATION_NAME = /^[A-Za-z0-9_-]+$/;
/** A comma separates names in the queries of lists. Blanks at the ends are easily lost in transit. */
const TEAM_NAME = /^[A-Za-z0-9_.:@/-](?:[A-Za-z0-9_.:@/ -]*[A-Za-z0-9_.:@/-])?$/;

/**
 * What is wrong with the name of an organization as a phrase, or null. The name is part of paths that policies match, so
 * nothing is in it that a path could spell in two ways.
 */
export function organizationNameProblem(value: unknown): string | null {
  return nameProblem(value, ORGANIZATION_NAME, "may only hold letters, digits, - and _");
}

/** What is wrong with the name of a team as a phrase, or null. Paths name teams by their ids. */
export function teamNameProblem(value: unknown): string | null {
  return nameProblem(value, TEAM_NAME, "may only hold letters, digits, - _ . : @ / and blanks between them");
}

function nameProblem(value: unknown, pattern: RegExp, rule: string): string | null {
  if (typeof value !== "string" || value === "") return "can't be blank";
  if (value.length > MAX_NAME_LENGTH) return `is too long (at most ${MAX_NAME_LENGTH} characters)`;
  return pattern.test(value) ? null : rule;
}

/** What is wrong with the description of a token as a phrase, or null. An empty one is a description like any other. */
export function descriptionProblem(value: unknown): string | null {
  if (typeof value !== "string") return "must be a string";
  if (value.length > MAX_DESCRIPTION_LENGTH) return `is too long (at most ${MAX_DESCRIPTION_LENGTH} characters)`;
  return /\p{Cc}|\p{Cs}/u.test(value) ? "must not hold control characters" : null;
}
