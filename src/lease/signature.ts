import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { endpointOrigin } from "./revocation-endpoint.ts";

/** Carries `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<unix seconds>.<body>">`. */
export const SIGNATURE_HEADER = "Grove-Signature";

const LABEL = "lease target\0";
const encoder = new TextEncoder();

/**
 * The key that signs what is sent to `target`: 32 bytes, one key for each origin, so that no target can speak to another as
 * if it were Grove.
 */
export function signingKey(keys: Keys, target: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, encoder.encode(LABEL + endpointOrigin(target)));
}

/**
 * The signature of `body`. The receiver computes the same with its key, compares in constant time, and refuses times that
 * are more than a few minutes away, so that a recorded request is worth nothing later.
 *
 * @param now ms.
 */
export async function signBody(key: Uint8Array<ArrayBuffer>, body: string, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000);
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `t=${seconds},v1=${toHex(await keyedHash(imported, encoder.encode(`${seconds}.${body}`)))}`;
}
