import { currentTime } from "../base/clock.ts";
import { concat, randomBytes } from "./bytes.ts";
import type { Keys } from "./key-ring.ts";
import { termInUse } from "./row-keys.ts";

const UTF_8 = new TextEncoder();
/** Returns exactly the text that was sealed: `ignoreBOM` keeps a byte order mark. */
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const DAY_MS = 86_400_000;
const NONCE_BYTES = 12;
/** Version of the data key and day of the encryption, two bytes each. */
const HEADER_BYTES = 4;

/**
 * Encrypts `plain` under today's key, derived from the data key in use. `context` is the purpose of the value: opening
 * it with another one fails, so a sealed value can't be used elsewhere.
 *
 * @returns version (2 bytes), day since 1970 (2 bytes), nonce (12 bytes), ciphertext with tag.
 */
export async function sealText(keys: Keys, context: string, plain: string): Promise<Uint8Array<ArrayBuffer>> {
  const now = currentTime();
  const { version, data: dataKey } = termInUse(keys.terms, now);
  const day = Math.floor(now / DAY_MS);
  const key = await dataKey.ofDay(day);
  dataKey.keep(day, key);
  dataKey.noteEncryptions(1);
  const header = Uint8Array.of(version >> 8, version, day >> 8, day);
  const nonce = randomBytes(NONCE_BYTES);
  const sealed = await crypto.subtle.encrypt(parameters(nonce, header, context), key, UTF_8.encode(plain));
  return concat(header, nonce, new Uint8Array(sealed));
}

/** The version of the term under which `sealText` encrypted this value. */
export function termOfSealed(sealed: Uint8Array): number {
  return new DataView(sealed.buffer, sealed.byteOffset).getUint16(0);
}

/** Decrypts a value that `sealText` made with the same context. Null for anything else. */
export async function openText(keys: Keys, context: string, sealed: Uint8Array): Promise<string | null> {
  if (sealed.length < HEADER_BYTES + NONCE_BYTES) return null;
  const header = concat(sealed.subarray(0, HEADER_BYTES));
  const version = new DataView(header.buffer).getUint16(0);
  const dataKey = keys.terms.find((term) => term.version === version)?.data;
  if (!dataKey) return null;
  const day = new DataView(header.buffer).getUint16(2);
  const key = await dataKey.ofDay(day);
  const nonce = concat(sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES));
  const cipher = concat(sealed.subarray(HEADER_BYTES + NONCE_BYTES));
  try {
    const plain = await crypto.subtle.decrypt(parameters(nonce, header, context), key, cipher);
    dataKey.keep(day, key);
    return DECODER.decode(plain);
  } catch {
    return null;
  }
}

function parameters(nonce: Uint8Array<ArrayBuffer>, header: Uint8Array, context: string) {
  const additionalData = concat(header, UTF_8.encode(context));
  return { name: "AES-GCM", iv: nonce, additionalData };
}
