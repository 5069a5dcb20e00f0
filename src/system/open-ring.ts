import type { Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { type KeyRing, parseSealKey, type SealKey, sealedWithVersion, unsealKeyRing } from "../crypto/key-ring.ts";
import type { SystemEnv } from "./env.ts";

/** A key ring that was opened. */
export interface OpenRing {
  readonly ring: KeyRing;
  /** The key under which the ring is to be wrapped when it is stored again. */
  readonly sealKey: SealKey;
  /** True while the ring is wrapped under the previous seal key. */
  readonly wrappedByPrevious: boolean;
}

/** The seal key that was checked last: the same in every request of a deployment. */
let checkedSealKey: { readonly text: string | undefined; readonly problem: string | null } | null = null;

/** Why the seal key of this deployment can't be used, as a message for operators; null when it can. */
export function sealKeyProblem(env: SystemEnv): string | null {
  const text = env.GROVE_SEAL_KEY;
  if (!checkedSealKey || checkedSealKey.text !== text) checkedSealKey = { text, problem: checkSealKey(env) };
  return checkedSealKey.problem;
}

function checkSealKey(env: SystemEnv): string | null {
  if (!env.GROVE_SEAL_KEY) {
    const how = [
      "on Cloudflare with npx wrangler secret put GROVE_SEAL_KEY",
      "self-hosted in the server's environment",
      "for wrangler dev in the file .dev.vars, which is made with one when it is missing",
    ];
    return `Grove is sealed: the secret GROVE_SEAL_KEY is not set. Set it ${how.join(", ")}`;
  }
  const parsed = parseSealKey(env.GROVE_SEAL_KEY);
  return parsed.ok ? null : `Grove is sealed: the secret GROVE_SEAL_KEY ${parsed.error}`;
}

/**
 * Opens a wrapped key ring with the seal key of this deployment, or with the previous one.
 *
 * @returns "uninitialized" without a ring; "sealed" while there is no seal key or a wrong one, with the command that helps.
 */
export async function openKeyRing(env: SystemEnv, sealed: string | null): Promise<Result<OpenRing, Failure>> {
  const problem = sealKeyProblem(env);
  if (problem) return err({ code: "sealed", message: problem });
  if (sealed === null) return err({ code: "uninitialized" });
  const current = parseSealKey(env.GROVE_SEAL_KEY ?? "");
  const previous = parseSealKey(env.GROVE_SEAL_KEY_PREVIOUS ?? "");
  if (!current.ok) return err({ code: "sealed", message: "Grove is sealed" });
  const version = sealedWithVersion(sealed);
  const wrappedByPrevious = version !== current.value.version;
  const wrappedBy = wrappedByPrevious ? previous : current;
  const ring =
    wrappedBy.ok && wrappedBy.value.version === version ? await unsealKeyRing(sealed, wrappedBy.value) : null;
  if (ring) return ok({ ring, sealKey: current.value, wrappedByPrevious });
  return err({
    code: "sealed",
    message: `Grove is sealed: GROVE_SEAL_KEY is not the key that wrapped the key ring (version ${version}). Set that key, or set it as GROVE_SEAL_KEY_PREVIOUS beside the new one`,
  });
}
