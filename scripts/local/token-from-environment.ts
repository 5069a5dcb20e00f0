import { err, ok, type Result } from "../../src/base/result.ts";

/** What tokens and keys are made of. Other characters get into no header, and what refuses them repeats the whole text. */
const SENDABLE = /^[\x21-\x7e]*$/;

/** True for a text that a header can carry as a token or a key. */
export function isSendable(text: string): boolean {
  return SENDABLE.test(text);
}

/**
 * Reads a token out of the environment, "" when it is not set. White space at its ends is no part of it, as in a header.
 * The error is for the operator and does not repeat the text.
 */
export function tokenIn(
  environment: Readonly<Record<string, string | undefined>>,
  name: "VAULT_TOKEN" | "GROVE_INIT_TOKEN",
): Result<string, string> {
  const text = environment[name]?.trim() ?? "";
  return isSendable(text) ? ok(text) : err(`${name} has characters that no token has (a line break?)`);
}
