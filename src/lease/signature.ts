import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { endpointOrigin } from "./revocation-endpoint.ts";

/** Header with the value `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<unix seconds>.<body>">`. */
export const SIGNATURE_HEADER = "Grove-Signature";

const LABEL = "lease target\0";
const encoder = new TextEncoder();

/**
 * Derives the key that signs for `target`: 32 bytes. Each origin has its own, so none can impersonate Grove to another.
 */
export function signingKey(keys: Keys, target: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, encoder.encode(LABEL + endpointOrigin(target)));
}

/**
 * Returns the value of the signature header for `body`. The receiver compares it in constant time, and refuses times
 * more than a few minutes away, so that a recorded request can't be replayed later.
 */
export async function signBody(key: Uint8Array<ArrayBuffer>, body: string, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000);
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `t=${seconds},v1=${toHex(await keyedHash(imported, encoder.encode(`${seconds}.${body}`)))}`;
}
