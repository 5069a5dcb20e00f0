import { randomBytes } from "./bytes.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = BigInt(ALPHABET.length);
/** The largest multiple of 62 in a byte: bytes from here on are drawn again, or some characters would come up more often. */
const FAIR_BYTES = 248;

/** `length` letters and digits that nobody can guess: 5.95 bits each. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < FAIR_BYTES) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}

/** The beginning of `bytes` as exactly `length` letters and digits; what does not fit is cut off at the top. */
export function base62Digest(bytes: Uint8Array, length: number): string {
  let rest = bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  let text = "";
  while (text.length < length) {
    text = ALPHABET.charAt(Number(rest % BASE)) + text;
    rest /= BASE;
  }
  return text;
}
