import { err, ok, type Result } from "../../src/base/result.ts";
import { parseSealKey, type SealKey, unsealKeyRing } from "../../src/crypto/key-ring.ts";

const SETTINGS = ["GROVE_SEAL_KEY", "GROVE_SEAL_KEY_PREVIOUS"] as const;

/** A seal key with the name of its setting. */
export interface NamedSealKey extends SealKey {
  readonly setting: (typeof SETTINGS)[number];
}

/** The seal keys of an environment: a server opens its data with either. The error names a setting that is no key. */
export function sealKeysOf(environment: NodeJS.ProcessEnv): Result<readonly NamedSealKey[], string> {
  const keys: NamedSealKey[] = [];
  for (const name of SETTINGS) {
    const text = environment[name];
    // An empty setting counts as not set, as on a server.
    if (!text) continue;
    const key = parseSealKey(text);
    if (!key.ok) return err(`${name} ${key.error}`);
    keys.push({ ...key.value, setting: name });
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

/** Whether seal keys open a backup. */
export type SealKeyVerdict =
  | { readonly kind: "opens"; readonly setting: NamedSealKey["setting"] }
  /** It can't be restored with them. `why` is for the operator. */
  | { readonly kind: "missing"; readonly why: string }
  /** There is no key, no known version or no key ring. */
  | { readonly kind: "unknown" };

/** Tries `keys` on the key ring of a backup. */
export async function judgeSealKeys(
  { sealKeyVersion: version, keyRing }: Sealed,
  keys: readonly NamedSealKey[],
): Promise<SealKeyVerdict> {
  if (version === null || keys.length === 0) return { kind: "unknown" };
  const named = keys.filter((key) => key.version === version);
  if (named.length === 0) {
    const versions = keys.map((key) => key.version).join(" and ");
    return {
      kind: "missing",
      why: `needs seal key version ${version}, and the configured one has version ${versions}`,
    };
  }
  if (keyRing === null) return { kind: "unknown" };
  for (const key of named) if (await unsealKeyRing(keyRing, key)) return { kind: "opens", setting: key.setting };
  return {
    kind: "missing",
    why: `needs a different seal key of version ${version}: the configured one does not open its key ring`,
  };
}
