import { toBase64 } from "../../../crypto/bytes.ts";
import { fromWrappedBase64 } from "../encoding.ts";

/** The block begins a line and ends the text. */
const BLOCK = /(?:^|\n)[ \t]*-----BEGIN CERTIFICATE-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n-----END CERTIFICATE-----\s*$/;

/**
 * Decodes a PEM text of exactly one certificate; null for anything else. Tools print explanatory text before the block
 * (RFC 7468, section 2), which says nothing here.
 */
export function decodePem(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.split("-----BEGIN", 3).length !== 2) return null;
  const body = BLOCK.exec(text)?.[1];
  return body === undefined ? null : fromWrappedBase64(body);
}

/** Encodes a certificate as PEM (RFC 7468): lines of 64 characters and a line break at the end. */
export function encodePem(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
