import { err, ok, type Result } from "../../src/base/result.ts";
import { parseSealKey, type SealKey, unsealKeyRing } from "../../src/crypto/key-ring.ts";

const SETTINGS = ["GROVE_SEAL_KEY", "GROVE_SEAL_KEY_PREVIOUS"] as const;

/** The seal keys of an environment: a server opens its data with either. The error names a setting that is no key. */
export function sealKeysOf(environment: NodeJS.ProcessEnv): Result<readonly SealKey[], string> {
  const keys: SealKey[] = [];
  for (const name of SETTINGS) {
    const text = environment[name];
    // An empty setting counts as not set, as on a server.
    if (!text) continue;
    const key = parseSealKey(text);
    if (!key.ok) return err(`${name} ${key.error}`);
    keys.push(key.value);
  }
  return ok(keys);
}

/** What a backup needs to be opened, as far as that is known. */
export interface Sealed {
  /** null: not known. */
  readonly sealKeyVersion: number | null;
  /** The key ring, wrapped with the seal key. */
  readonly keyRing: string | null;
}

/**
 * Why a backup can't be restored with `keys`, for the operator; null when it can, or when that can't be decided because
 * there is no key or no known version.
 */
export async function missingSealKey(
  { sealKeyVersion: version, keyRing }: Sealed,
  keys: readonly SealKey[],
): Promise<string | null> {
  if (version === null || keys.length === 0) return null;
  const named = keys.filter((key) => key.version === version);
  if (named.length === 0) {
    const versions = keys.map((key) => key.version).join(" and ");
    return `needs seal key version ${version}, and the configured one has version ${versions}`;
  }
  if (keyRing === null) return null;
  for (const key of named) if (await unsealKeyRing(keyRing, key)) return null;
  return `needs a different seal key of version ${version}: the configured one does not open its key ring`;
}
