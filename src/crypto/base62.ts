import { randomBytes } from "./bytes.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = BigInt(ALPHABET.length);
/** The characters of base62 that base58 leaves out, as they look alike. */
const LOOKALIKES = /[0OIl]/g;
const BASE58 = ALPHABET.replace(LOOKALIKES, "");
const BYTE_VALUES = 256;

/** `length` random letters and digits from a cryptographic generator: 5.95 bits each. */
export function randomBase62(length: number): string {
  return randomText(ALPHABET, length);
}

/** `length` characters of base58, letters and digits without those that look alike: 5.86 bits each. */
export function randomBase58(length: number): string {
  return randomText(BASE58, length);
}

/** `length` characters of `alphabet` (1 to 256 ASCII characters), chosen uniformly by a cryptographic generator. */
export function randomText(alphabet: string, length: number): string {
  // The largest multiple of the alphabet's length. Bytes from here on are rejected: modulo would favor some characters.
  const fair = BYTE_VALUES - (BYTE_VALUES % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < fair) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

/** True when a base62 text has none of the characters that base58 leaves out. */
export function hasNoLookalikes(text: string): boolean {
  return text.search(LOOKALIKES) < 0;
}

/** `bytes` as a big-endian number in base62: exactly `length` characters, the least significant ones. */
export function base62Digest(bytes: Uint8Array, length: number): string {
  let rest = bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  let text = "";
  while (text.length < length) {
    text = ALPHABET.charAt(Number(rest % BASE)) + text;
    rest /= BASE;
  }
  return text;
}
