import { parseSealKey } from "../../src/crypto/key-ring.ts";

/** The seal keys of an environment, as texts. */
export type SealKeys = readonly (string | undefined)[];

/** The settings with the seal keys. A server opens its data with either. */
export function sealKeysOf(environment: NodeJS.ProcessEnv): SealKeys {
  return [environment.GROVE_SEAL_KEY, environment.GROVE_SEAL_KEY_PREVIOUS];
}

/**
 * Why a backup that needs the seal key of this version can't be restored with `keys`, for the operator; null when it can, and where that
 * is not known: without a key, or without a version (null).
 */
export function missingSealKey(version: number | null, keys: SealKeys): string | null {
  const versions = keys.flatMap((key) => {
    const read = parseSealKey(key ?? "");
    return read.ok ? [read.value.version] : [];
  });
  if (version === null || versions.length === 0 || versions.includes(version)) return null;
  return `needs seal key version ${version}, and the configured one has version ${versions.join(" and ")}`;
}
