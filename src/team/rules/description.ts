/** Longest description of a token. */
const MAX_DESCRIPTION_LENGTH = 255;

/** What is wrong with the description of a token as a phrase, or null. An empty one is a description like any other. */
export function descriptionProblem(value: unknown): string | null {
  if (typeof value !== "string") return "must be a string";
  if (value.length > MAX_DESCRIPTION_LENGTH) return `is too long (at most ${MAX_DESCRIPTION_LENGTH} characters)`;
  return /\p{Cc}|\p{Cs}/u.test(value) ? "must not hold control characters" : null;
}
