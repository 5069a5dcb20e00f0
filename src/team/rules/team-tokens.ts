/** Maximum number of tokens of a team. */
export const MAX_TEAM_TOKENS = 1000;
const MAX_DESCRIPTION_LENGTH = 255;

/** The problem with the description of a token as a phrase, or null. It may be empty. */
export function descriptionProblem(text: string): string | null {
  if (text.length > MAX_DESCRIPTION_LENGTH) return `is too long (at most ${MAX_DESCRIPTION_LENGTH} characters)`;
  return /\p{Cc}|\p{Cs}/u.test(text) ? "must not hold control characters" : null;
}
