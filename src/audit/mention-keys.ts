import { createHmac } from "node:crypto";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";

const LABEL = new TextEncoder().encode("grove audit mentions");
/** A key is exact as a number of JavaScript. */
const KEY_BITS = 52n;

/** The secrets of installations, by their keys. */
const secrets = new WeakMap<Keys, Promise<Uint8Array>>();

/**
 * Returns a function that gives the key of a mention: a keyed hash, so that the storage does not tell what is mentioned.
 * Two mentions can have the same key, rarely: a reader compares the mentions of the record. It never changes, whatever
 * terms of keys begin.
 */
export async function mentionKeys(keys: Keys): Promise<(mention: string) => number> {
  const known = secrets.get(keys) ?? keyedHash(keys.audit, LABEL);
  secrets.set(keys, known);
  const secret = await known;
  return (mention) => {
    const hash = createHmac("sha256", secret).update(mention).digest();
    return Number(hash.readBigUInt64BE() >> (64n - KEY_BITS));
  };
}
