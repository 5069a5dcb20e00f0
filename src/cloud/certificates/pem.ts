import { toBase64 } from "../../crypto/bytes.ts";
import { fromWrappedBase64 } from "../encoding.ts";

const BLOCK = /^\s*-----BEGIN CERTIFICATE-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n-----END CERTIFICATE-----\s*$/;

/** Decodes a PEM text of exactly one certificate; null for anything else. */
export function decodePem(text: string): Uint8Array<ArrayBuffer> | null {
  const body = BLOCK.exec(text)?.[1];
  return body === undefined ? null : fromWrappedBase64(body);
}

/** Encodes a certificate as PEM (RFC 7468): lines of 64 characters and a line break at the end. */
export function encodePem(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
