import { err, ok, type Result } from "../../../src/base/result.ts";
import { deploymentSecretsIn, linesOfDeploymentSecrets, tokensIn, valueIn, wholeTokensIn } from "../secret-like.ts";

/** What is asked about, with where it was read. */
export interface TextToFind {
  /** Numbers of its lines, from 1. */
  readonly lines: readonly number[];
  /** What may be a token in it, the likeliest first. Empty: what may not be sent. */
  readonly candidates: readonly string[];
}

/** Why nothing is asked about what may be a secret of the deployment. */
export const DEPLOYMENT_SECRET_KEPT =
  "By its name or by a name near it this may be a seal key, an init token or a cluster key: it was not sent to the server.";

/**
 * Takes out of what was found the texts to ask about, each once. A line in which nothing has the form of a token is asked
 * about as a whole, and by the value that it assigns: an id that was chosen has no form. What may be a secret of the
 * deployment is never asked about.
 */
export function textsToFind(given: string): TextToFind[] {
  const found = new Map<string, TextToFind>();
  const secrets = deploymentSecretsIn(given);
  const lines = given.split("\n").map((line) => line.trim());
  const near = linesOfDeploymentSecrets(lines);
  for (const [at, text] of lines.entries()) {
    const isSecret = near.has(at) || secrets.some((secret) => text.includes(secret));
    for (const candidates of isSecret ? beside(text) : candidatesIn(text)) {
      const key = candidates.join("\n");
      const numbers: readonly number[] = found.get(key)?.lines ?? [];
      if (numbers.at(-1) !== at + 1) found.set(key, { lines: [...numbers, at + 1], candidates });
    }
  }
  return [...found.values()];
}

/** A secret of the deployment is for no request: nothing is asked about beside it but what is certainly a token. */
const beside = (line: string): (readonly string[])[] => [...wholeTokensIn(line).map((token) => [token]), []];

/**
 * The one token in what was found, such as VAULT_TOKEN=…, else the text as it is: an id that was chosen has no form. What
 * may be a secret of the deployment is no token here either. The error does not repeat the text.
 */
export function oneTokenIn(given: string): Result<string, string> {
  const hasSecret = textsToFind(given).some(({ candidates }) => candidates.length === 0);
  const tokens = hasSecret ? wholeTokensIn(given) : tokensIn(given);
  if (hasSecret && tokens.length === 0) return err(DEPLOYMENT_SECRET_KEPT);
  const [token = given] = tokens;
  return tokens.length > 1 || /\s/.test(token) ? err("this is more than one text: give one token") : ok(token);
}

function candidatesIn(line: string): (readonly string[])[] {
  if (line === "") return [];
  const tokens = tokensIn(line).map((token) => [token]);
  if (tokens.length > 0) return tokens;
  const value = valueIn(line);
  return [value === "" || value === line ? [line] : [line, value]];
}
