import { currentTime } from "../base/clock.ts";
import { ExpiringCache } from "../base/expiring-cache.ts";
import type { Env } from "../env.ts";
import { mayContain } from "../system/custom-id-filter.ts";
import type { Installation } from "../system/installation.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { customIdHashes, type TokenCredential } from "../token/ids.ts";
import { couldBeCustomId } from "../token/rules/custom-id.ts";
import { customIdsOf } from "../tree/custom-ids.ts";

/** Tokens with chosen ids in one generation of the cache of an isolate. */
const MAX_FOUND = 1024;

/** Where tokens are, by their ids, as this isolate found them. Whether one is alive is not here. */
const found = new ExpiringCache<TokenCredential>(MAX_FOUND);
/** Counts the ids that this isolate gave: an answer that was under way meanwhile is not cached. */
let given = 0;

/**
 * Reads a token id that root chose: what the filter lets through is looked up in the directory, and remembered for
 * POLICY_CACHE_SECONDS. Null for an id that no token has.
 */
export async function readCustomId(
  env: Env,
  installation: Installation,
  text: string,
): Promise<TokenCredential | null> {
  if (!couldBeCustomId(text)) return null;
  const now = currentTime();
  const known = found.get(text, now);
  if (known) return known;
  const givenBefore = given;
  for (const { filterKey, directoryKey, verifier } of await customIdHashes(installation.keys, text, now)) {
    if (!mayContain(installation.customIdFilter, filterKey)) continue;
    const address = await customIdsOf(env, directoryKey).find(directoryKey);
    if (!address) continue;
    const credential = { ...address, verifier };
    if (given === givenBefore) found.set(text, credential, now + snapshotMaxAgeMs(env));
    return credential;
  }
  return null;
}

/** Forgets where the token with this id is: it is given to another one. */
export function forgetCustomId(text: string): void {
  given++;
  found.forget(text);
}
