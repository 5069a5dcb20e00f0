import { deploymentSecretsIn, tokensIn, valueIn } from "../secret-like.ts";

/** What is asked about, with where it was read. */
export interface TextToFind {
  /** Numbers of its lines, from 1. */
  readonly lines: readonly number[];
  /** What may be a token in it, the likeliest first. Empty: what may not be sent. */
  readonly candidates: readonly string[];
}

/**
 * Takes out of what was found the texts to ask about, each once. A line in which nothing has the form of a token is asked
 * about as a whole, and by the value that it assigns: an id that was chosen has no form.
 */
export function textsToFind(given: string): TextToFind[] {
  const found = new Map<string, TextToFind>();
  const secrets = deploymentSecretsIn(given);
  for (const [at, text] of given.split("\n").entries()) {
    for (const candidates of candidatesIn(text.trim(), secrets)) {
      const key = candidates.join("\n");
      const lines: readonly number[] = found.get(key)?.lines ?? [];
      if (lines.at(-1) !== at + 1) found.set(key, { lines: [...lines, at + 1], candidates });
    }
  }
  return [...found.values()];
}

function candidatesIn(line: string, secrets: readonly string[]): (readonly string[])[] {
  if (line === "") return [];
  const tokens = tokensIn(line).map((token) => [token]);
  // A secret of the deployment is for no request.
  if (secrets.some((secret) => line.includes(secret))) return [...tokens, []];
  if (tokens.length > 0) return tokens;
  const value = valueIn(line);
  return [value === "" || value === line ? [line] : [line, value]];
}
