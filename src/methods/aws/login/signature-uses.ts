import { type IssuedLogin, issueToken, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/expiring-cache.ts";
import { err, invalid, type Result } from "../../../base/result.ts";
import { fromHex, toBase64Url } from "../../../crypto/bytes.ts";
import type { Attempt } from "./attempt.ts";

/** The signature of a login that STS has found genuine. */
export interface Signature {
  /** 64 hex digits. */
  readonly text: string;
  /** When it is too old to be shown again, ms. */
  readonly endsAt: number;
}

/**
 * Tokens of one signature unless TOKENS_PER_SIGNATURE says otherwise. A date in a signature has seconds: programs that share
 * credentials and log in within the same second, as a hundred copies of a function do, have the same one.
 */
const DEFAULT_TOKENS = 100;

/** Signatures that are remembered at least; 12.5 MB at most. */
const MAX_SIGNATURES = 2 ** 15;

/** Bytes of a signature that identify it. They are too few to show it again. */
const KEPT_BYTES = 16;

/** The setting TOKENS_PER_SIGNATURE; one that is no positive whole number must not mean that there is no limit. */
export function tokensPerSignature(setting: string | undefined): number {
  const tokens = Number(setting ?? DEFAULT_TOKENS);
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : DEFAULT_TOKENS;
}

/**
 * How many tokens each signature has given, in the memory of this isolate: a signed login that leaks into a log can't make
 * any number of tokens. Only genuine signatures that gave a token are counted, so an attacker can't evict one by forged
 * ones. Times in ms.
 */
export class SignatureUses {
  readonly #uses = new ExpiringCache<{ count: number }>(MAX_SIGNATURES);

  /** Counts a token that is about to be made; false when the signature has given `most`. */
  take({ text, endsAt }: Signature, most: number, now: number): boolean {
    const key = keyOf(text);
    const uses = this.#uses.get(key, now);
    if (!uses) this.#uses.set(key, { count: 1 }, endsAt);
    else if (uses.count < most) uses.count++;
    else return false;
    return true;
  }

  /** Takes the count of a token back that was not made. */
  giveBack({ text }: Signature, now: number): void {
    const uses = this.#uses.get(keyOf(text), now);
    if (uses) uses.count--;
  }
}

/** A text of its own: a part of the request's would keep the whole request in memory. */
function keyOf(signature: string): string {
  return toBase64Url((fromHex(signature) ?? new Uint8Array()).subarray(0, KEPT_BYTES));
}

/** What the signatures of this isolate's logins have given. */
const signatureUses = new SignatureUses();

const SIGNATURE_USED_UP = invalid(
  "this signed request has given as many tokens as one may (TOKENS_PER_SIGNATURE): sign the request again",
);

/** Gives a client its token, unless the signature that proved who it is has given as many as it may. */
export async function issueForSignature(
  attempt: Attempt,
  signature: Signature,
  client: VerifiedClient,
): Promise<Result<IssuedLogin>> {
  // Counted before anything is waited for: of many logins at once no more than the allowed ones get past here.
  const most = tokensPerSignature(attempt.env.TOKENS_PER_SIGNATURE);
  if (!signatureUses.take(signature, most, currentTime())) {
    return attempt.checks.record("signature_uses", {}, err(SIGNATURE_USED_UP));
  }
  const issued = await issueToken(attempt, client);
  if (!issued.ok) signatureUses.giveBack(signature, currentTime());
  return issued;
}
