import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";

const UTF_8 = new TextEncoder();
const HEX = /^(?:[0-9a-f]{2})*$/;

export function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");
}

/** Bytes of unpadded base64url, or null. Accepts only the canonical encoding: one string for one value. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(Buffer.from(text, "base64url"));
  return toBase64Url(bytes) === text ? bytes : null;
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Bytes of padded base64, or null. Accepts only the canonical encoding. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(Buffer.from(text, "base64"));
  return toBase64(bytes) === text ? bytes : null;
}

/** Bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** Bytes of lower-case hex, or null. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  return HEX.test(text) ? new Uint8Array(Buffer.from(text, "hex")) : null;
}

/** Text of UTF-8, or null when the bytes are malformed or start with a byte order mark. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.startsWith("\uFEFF") ? null : text;
  } catch {
    return null;
  }
}

/** The bytes of all parts, in their order. */
export function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** `count` random bytes from a cryptographic generator. */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** True when both contain the same bytes. Compares in constant time for inputs of the same length. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** True for the same text. Compares in constant time for texts of the same length in UTF-8. */
export function equalTexts(a: string, b: string): boolean {
  return equalBytes(UTF_8.encode(a), UTF_8.encode(b));
}
