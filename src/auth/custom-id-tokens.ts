import { currentTime } from "../base/clock.ts";
import { IsolateCopy } from "../base/isolate-copy.ts";
import type { Env } from "../env.ts";
import { maxCopyAgeMs } from "../system/copy-age.ts";
import { mayContain } from "../system/custom-id-filter.ts";
import type { Installation } from "../system/installation.ts";
import { customIdHashes, type TokenCredential } from "../token/ids.ts";
import { couldBeCustomId } from "../token/rules/custom-id.ts";
import { customIdsOf } from "../tree/custom-ids.ts";

/** Maximum number of custom ids in one generation of the isolate's cache. */
const MAX_FOUND = 1024;

/** Addresses of tokens by custom id, as this isolate read them from the directory. Liveness is not cached here. */
const found = new IsolateCopy<string, TokenCredential>(MAX_FOUND);

/**
 * Reads a custom id. An id that the filter may contain is looked up in the directory, and a hit is cached for
 * POLICY_CACHE_SECONDS. Returns null for an id that no token has.
 */
export async function readCustomId(
  env: Env,
  installation: Installation,
  text: string,
): Promise<TokenCredential | null> {
  if (!couldBeCustomId(text)) return null;
  const credential = await found.load(text, maxCopyAgeMs(env), () => findCustomId(env, installation, text));
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

/** Drops the cached address of a custom id. Called when another token gets the id. */
export function forgetCustomId(text: string): void {
  found.forget(text);
}
