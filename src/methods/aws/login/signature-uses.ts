import { type IssuedLogin, issueToken, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/generational-cache.ts";
import { err, invalid, type Result } from "../../../base/result.ts";
import { fromHex, toBase64Url } from "../../../crypto/bytes.ts";
import type { Attempt } from "./attempt.ts";

/** The signature of a login that STS has verified. */
export interface Signature {
  /** 64 hex digits. */
  readonly text: string;
  /** When it is too old for another login, ms. */
  readonly endsAt: number;
}

/**
 * Tokens of one signature without TOKENS_PER_SIGNATURE. The date in a signature has seconds: programs that share
 * credentials and log in within the same second, such as a hundred copies of a function, have the same signature.
 */
const DEFAULT_TOKENS = 100;

/** Minimum number of signatures that are remembered; they take 12.5 MB at most. */
const MAX_SIGNATURES = 2 ** 15;

/** Number of bytes that identify a signature. They are too few to use it again. */
const KEPT_BYTES = 16;

/** The setting TOKENS_PER_SIGNATURE. An invalid one means the default, and not that there is no limit. */
export function tokensPerSignature(setting: string | undefined): number {
  const tokens = Number(setting ?? DEFAULT_TOKENS);
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : DEFAULT_TOKENS;
}

/**
 * Counts the tokens of each signature in the memory of this isolate, so that a signed login that leaks into a log can't
 * create any number of tokens. Only verified signatures are counted: forged ones can't evict others. Times in ms.
 */
export class SignatureUses {
  readonly #uses = new ExpiringCache<{ count: number }>(MAX_SIGNATURES);

  /** Counts a token before it is issued; false when the signature has given `most`. */
  take({ text, endsAt }: Signature, most: number, now: number): boolean {
    const key = keyOf(text);
    const uses = this.#uses.get(key, now);
    if (!uses) this.#uses.set(key, { count: 1 }, endsAt);
    else if (uses.count < most) uses.count++;
    else return false;
    return true;
  }

  /** Takes back the count of a token that was not issued. */
  giveBack({ text }: Signature, now: number): void {
    const uses = this.#uses.get(keyOf(text), now);
    if (uses) uses.count--;
  }
}

/** A new string: a substring of the request would keep the whole request in memory. */
function keyOf(signature: string): string {
  return toBase64Url((fromHex(signature) ?? new Uint8Array()).subarray(0, KEPT_BYTES));
}

const signatureUses = new SignatureUses();

const SIGNATURE_USED_UP = invalid(
  "this signed request has given as many tokens as one may (TOKENS_PER_SIGNATURE): sign the request again",
);

/** Issues the token of a client, unless its signature has given as many as it may. */
export async function issueForSignature(
  attempt: Attempt,
  signature: Signature,
  client: VerifiedClient,
): Promise<Result<IssuedLogin>> {
  // Counted before the first await: concurrent logins can't pass the limit together.
  const most = tokensPerSignature(attempt.env.TOKENS_PER_SIGNATURE);
  if (!signatureUses.take(signature, most, currentTime())) {
    return attempt.checks.record("signature_uses", {}, err(SIGNATURE_USED_UP));
  }
  const issued = await issueToken(attempt, client);
  if (!issued.ok) signatureUses.giveBack(signature, currentTime());
  return issued;
}
