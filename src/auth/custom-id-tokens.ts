import { currentTime } from "../base/clock.ts";
import { IsolateCopy } from "../base/isolate-copy.ts";
import type { Env } from "../env.ts";
import { snapshotMaxAgeMs } from "../system/copy-age.ts";
import { mayContain } from "../system/custom-id-filter.ts";
import type { Installation } from "../system/installation.ts";
import { customIdHashes, type TokenCredential } from "../token/ids.ts";
import { couldBeCustomId } from "../token/rules/custom-id.ts";
import { customIdsOf } from "../tree/custom-ids.ts";

/** Tokens with chosen ids in one generation of the copies of an isolate. */
const MAX_FOUND = 1024;

/** Where tokens are, by their ids, as this isolate found them. Whether one is alive is not here. */
const found = new IsolateCopy<string, TokenCredential>(MAX_FOUND);

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
  const credential = await found.load(text, snapshotMaxAgeMs(env), () => findCustomId(env, installation, text));
  return credential ?? null;
}

async function findCustomId(env: Env, installation: Installation, text: string): Promise<TokenCredential | undefined> {
  for (const { filterKey, directoryKey, verifier } of await customIdHashes(installation.keys, text, currentTime())) {
    if (!mayContain(installation.customIdFilter, filterKey)) continue;
    const address = await customIdsOf(env, directoryKey).find(directoryKey);
    if (address) return { ...address, verifier };
  }
  return undefined;
}

/** Forgets where the token with this id is: it is given to another one. */
export function forgetCustomId(text: string): void {
  found.forget(text);
}
