import { createHmac } from "node:crypto";
import { GenerationalCache } from "../base/generational-cache.ts";
import { keyOfMentions } from "../crypto/audit-key.ts";
import type { Keys } from "../crypto/key-ring.ts";

/** A JavaScript number holds a key of 52 bits exactly. */
const KEY_HEX_DIGITS = 13;

/** Number of keys in one generation of the cache: of callers, addresses, entities and roles, which recur. */
const MAX_KEPT_KEYS = 512;
/** Maximum length of a mention whose key is kept. */
const MAX_KEPT_LENGTH = 128;
/** The id of a request does not recur. */
const NEVER_KEPT = "request:";

/** The secrets of installations, by their keys. */
const secrets = new WeakMap<Keys, Promise<Uint8Array>>();
const kept = new GenerationalCache<string, number>(MAX_KEPT_KEYS);
/** The secret that made the kept keys. */
let keptOf: Uint8Array | null = null;

/**
 * Returns a function that gives the key of a mention: a keyed hash, so that storage does not show what is mentioned.
 * Two mentions can rarely have the same key, so a reader also compares the mentions of the record. A rotation of keys
 * does not change it.
 */
export async function mentionKeys(keys: Keys): Promise<(mention: string) => number> {
  const known = secrets.get(keys) ?? keyOfMentions(keys);
  secrets.set(keys, known);
  const secret = await known;
  if (keptOf !== secret) kept.clear();
  keptOf = secret;
  return (mention) => {
    const before = keptOf === secret ? kept.get(mention) : undefined;
    if (before !== undefined) return before;
    const hash = createHmac("sha256", secret).update(mention).digest("hex");
    const key = Number.parseInt(hash.slice(0, KEY_HEX_DIGITS), 16);
    const recurs = mention.length <= MAX_KEPT_LENGTH && !mention.startsWith(NEVER_KEPT);
    if (recurs && keptOf === secret) kept.set(mention, key, 1);
    return key;
  };
}
