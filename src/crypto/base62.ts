import { randomBytes } from "./bytes.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = BigInt(ALPHABET.length);
/** The largest multiple of 62 in a byte. Bytes from here on are rejected, or some characters would be more frequent. */
const FAIR_BYTES = 248;
/** The characters of base62 that base58 leaves out, as they look alike. */
const LOOKALIKES = /[0OIl]/g;

/** `length` random letters and digits from a cryptographic generator: 5.95 bits each. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < FAIR_BYTES) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}

/** `length` characters of base58, letters and digits without those that look alike: 5.86 bits each. */
export function randomBase58(length: number): string {
  let text = "";
  while (text.length < length) text += randomBase62(length - text.length).replace(LOOKALIKES, "");
  return text;
}

/** True for a string of base58 characters only. */
export function isBase58(text: string): boolean {
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
