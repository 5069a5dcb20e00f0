import { err, ok, type Result } from "../base/result.ts";
import { type KeyRing, parseSealKey, type SealKey, sealedWithVersion, unsealKeyRing } from "../crypto/key-ring.ts";
import type { SystemEnv } from "./env.ts";

interface OpenRing {
  readonly ring: KeyRing;
  /** The current seal key, which wraps the ring when it is stored again. */
  readonly sealKey: SealKey;
  /** True while the ring is wrapped under the previous seal key. */
  readonly wrappedByPrevious: boolean;
}

/** The last result of `sealKeyOf`. Cached, as the seal key is the same in every request of a deployment. */
let last: { readonly text: string | undefined; readonly key: Result<SealKey, string> } | null = null;

/** The seal key of this deployment; the error is a message for operators. */
export function sealKeyOf({ GROVE_SEAL_KEY: text }: SystemEnv): Result<SealKey, string> {
  if (!last || last.text !== text) last = { text, key: readSealKey(text) };
  return last.key;
}

const WHERE_TO_SET = [
  "on Cloudflare with npx wrangler secret put GROVE_SEAL_KEY",
  "self-hosted in the server's environment",
  "for wrangler dev in the file .dev.vars, which is made with one when it is missing",
];

function readSealKey(text: string | undefined): Result<SealKey, string> {
  const read = text ? parseSealKey(text) : err(`is not set. Set it ${WHERE_TO_SET.join(", ")}`);
  return read.ok ? read : err(`Grove is sealed: the secret GROVE_SEAL_KEY ${read.error}`);
}

/**
 * Opens a wrapped key ring with the seal key of this deployment, or with the previous one. "uninitialized" without a
 * ring; "sealed" while the seal key is missing or wrong, with a message that names the remedy.
 */
export async function openKeyRing(env: SystemEnv, sealed: string | null): Promise<Result<OpenRing>> {
  const current = sealKeyOf(env);
  if (!current.ok) return err({ code: "sealed", message: current.error });
  if (sealed === null) return err({ code: "uninitialized" });
  const version = sealedWithVersion(sealed);
  const wrappedByPrevious = version !== current.value.version;
  const wrappedBy = wrappedByPrevious ? parseSealKey(env.GROVE_SEAL_KEY_PREVIOUS ?? "") : current;
  const ring = wrappedBy.ok ? await unsealKeyRing(sealed, wrappedBy.value) : null;
  if (ring) return ok({ ring, sealKey: current.value, wrappedByPrevious });
  return err({
    code: "sealed",
    message: `Grove is sealed: GROVE_SEAL_KEY is not the key that wrapped the key ring (version ${version}). Set that key, or set it as GROVE_SEAL_KEY_PREVIOUS beside the new one`,
  });
}
