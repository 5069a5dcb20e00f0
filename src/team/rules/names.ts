import { invalidDocument } from "../../base/result.ts";

/** Maximum length of the name of a team or an organization. */
export const MAX_NAME_LENGTH = 90;

/** The refusal of the name of another team or organization. */
export const NAME_TAKEN = invalidDocument("Name has already been taken", "/data/attributes/name");

/** No comma, which separates names in the queries of lists. No blanks at the ends, which are easily lost. */
const TEAM_NAME_PATTERN = /^[A-Za-z0-9_.:@/-](?:[A-Za-z0-9_.:@/ -]*[A-Za-z0-9_.:@/-])?$/;

/**
 * The problem with the name of an organization as a phrase, or null. The name is a part of paths in policies, so it has
 * no character with two spellings in a path.
 */
export function organizationNameProblem(value: unknown): string | null {
  return nameProblem(value, /^[A-Za-z0-9_-]+$/, "may only hold letters, digits, - and _");
}

/** The problem with the name of a team as a phrase, or null. Paths have the ids of teams and not their names. */
export function teamNameProblem(value: unknown): string | null {
  return nameProblem(value, TEAM_NAME_PATTERN, "may only hold letters, digits, - _ . : @ / and blanks between them");
}

function nameProblem(value: unknown, pattern: RegExp, rule: string): string | null {
  if (typeof value !== "string" || value === "") return "can't be blank";
  if (value.length > MAX_NAME_LENGTH) return `is too long (at most ${MAX_NAME_LENGTH} characters)`;
  return pattern.test(value) ? null : rule;
}
