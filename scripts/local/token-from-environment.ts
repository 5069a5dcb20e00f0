import { err, ok, type Result } from "../../src/base/result.ts";

/** Characters of tokens and keys. fetch refuses others in a header with an error that repeats the whole text. */
const SENDABLE = /^[\x21-\x7e]*$/;

/** True for a text that a header can carry as a token or a key. */
export function isSendable(text: string): boolean {
  return SENDABLE.test(text);
}

/**
 * Reads a token from the environment; "" when it is not set. White space at its ends is removed, as from a header. The
 * error is for the operator and does not repeat the text.
 */
export function tokenIn(
  environment: Readonly<Record<string, string | undefined>>,
  name: "VAULT_TOKEN" | "BAO_TOKEN" | "GROVE_INIT_TOKEN",
): Result<string, string> {
  const text = environment[name]?.trim() ?? "";
  return isSendable(text) ? ok(text) : err(`${name} has characters that no token has (a line break?)`);
}
