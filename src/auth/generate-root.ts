import { currentTime } from "../base/clock.ts";
import { err, invalid, ok, type Result, refuse } from "../base/result.ts";
import { randomBase62 } from "../crypto/base62.ts";
import { equalBytes, fromBase64, fromHex, toBase64 } from "../crypto/bytes.ts";
import { parseSealKey } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { MAX_KEY_TRIES } from "../system/installation-store.ts";
import { systemOf } from "../system/system.ts";
import { SERVICE_TOKEN_LENGTH } from "../token/ids.ts";
import { rootToken } from "./initialize.ts";
import { issue } from "./issue.ts";

// How a root token is generated for operators who have none, with the messages of the reference's sys/generate-root-token.
// There, shares of the unseal key are given one after the other; here the seal key is the only share.

/** Characters of the one-time password: those of the token that is encoded with it. */
export const OTP_LENGTH = SERVICE_TOKEN_LENGTH;

const OTP_CONTEXT = "generate-root otp";
const PRINTABLE = /^[\x21-\x7e]+$/;
const NONE = invalid("no root generation in progress");

const encode = (text: string) => new TextEncoder().encode(text);

/** An attempt that was opened. */
export interface OpenedAttempt {
  readonly nonce: string;
  /** "" when the caller sent one. */
  readonly generatedOtp: string;
}

/** Opens an attempt. @param otp "" for one that is made here; it is shown once. */
export async function beginRootGeneration(
  env: Env,
  installation: Installation,
  otp: string,
): Promise<Result<OpenedAttempt>> {
  if (otp !== "" && (otp.length !== OTP_LENGTH || !PRINTABLE.test(otp))) {
    return refuse("OTP string has incorrect length");
  }
  const generatedOtp = otp === "" ? randomBase62(OTP_LENGTH) : "";
  const sealedOtp = await sealText(installation.keys, OTP_CONTEXT, otp || generatedOtp);
  const nonce = crypto.randomUUID();
  const begun = await systemOf(env).beginRootGeneration({ nonce, sealedOtp }, currentTime());
  return begun ? ok({ nonce, generatedOtp }) : refuse("root generation already in progress");
}

/**
 * Makes a root token for the holder of the seal key.
 *
 * The attempt is closed before the token is made: of two at once, and after a crash in between, there is never more than one
 * token for one attempt.
 *
 * @returns the token, combined with the one-time password bit by bit, in unpadded base64.
 */
export async function finishRootGeneration(
  env: Env,
  installation: Installation,
  nonce: string,
  key: string,
): Promise<Result<string>> {
  const now = currentTime();
  const attempt = await systemOf(env).tryRootGeneration(now);
  if (!attempt) return err(NONE);
  const wrong = (message: string) =>
    refuse(attempt.left > 0 ? message : `${message}; the attempt ends after ${MAX_KEY_TRIES} tries`);
  if (!equalBytes(encode(nonce), encode(attempt.nonce))) return wrong("incorrect nonce supplied");
  if (!isSealKey(env, key)) return wrong("root generation aborted: the key is not the seal key of this deployment");
  const otp = await openText(installation.keys, OTP_CONTEXT, attempt.sealedOtp);
  if (otp === null) return refuse("root generation aborted: the attempt was tampered with; cancel it");
  if (!(await systemOf(env).closeRootGeneration(nonce, now))) return err(NONE);
  const issued = await issue(env, installation, rootToken(now, null), null, "");
  if (!issued.ok) return issued;
  const token = encode(issued.value.clientToken);
  const pad = encode(otp);
  const encoded = token.map((byte, i) => byte ^ (pad[i] ?? 0));
  return ok(toBase64(encoded).replace(/=+$/, ""));
}

/** @param key as set in the deployment, or its 32 bytes alone in base64 or hex. */
function isSealKey(env: Env, key: string): boolean {
  const sealKey = parseSealKey(env.GROVE_SEAL_KEY ?? "");
  const text = key.trim().replace(/^\d{1,6}:/, "");
  const bytes = fromHex(text.toLowerCase()) ?? fromBase64(text);
  return sealKey.ok && bytes !== null && equalBytes(bytes, sealKey.value.bytes);
}
