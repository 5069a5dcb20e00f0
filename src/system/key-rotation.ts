import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { currentTerm, type KeyRing, type Keys, sealKeyRing, withNewTerm } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { openKeyRing } from "./open-ring.ts";
import { isRotationDue } from "./rotation-rules.ts";
import { systemOf } from "./system.ts";

/** Changes that lose against another one this often in a row are given up. */
const MAX_TRIES = 5;

/** Terms at once: a token that nobody made is hashed under the key of each before it is refused. */
const MAX_TERMS = 16;

const TOO_MANY_TERMS = invalid(
  `there are ${MAX_TERMS} terms of keys already; tidy drops each when nothing is left of it`,
);
const BUSY: Failure = { code: "unavailable", message: "the keys are being changed; try again", retryAfterSeconds: 1 };

/**
 * Begins a new term: from now on values are sealed and tokens are hashed under new keys. Those of before stay good. Other
 * isolates follow when they read the installation anew.
 */
export async function rotateKeys(env: Env, now: number): Promise<Result<null, Failure>> {
  let full = false;
  const rotated = await changeKeyRing(env, (ring) => {
    full = ring.data.length >= MAX_TERMS;
    return full ? null : withNewTerm(ring, now);
  });
  return full ? err(TOO_MANY_TERMS) : rotated;
}

/**
 * Replaces the key ring by what `change` makes of it. Of two changes at once the second is made on the result of the first.
 *
 * @param change returns null when there is nothing to change.
 */
export async function changeKeyRing(
  env: Env,
  change: (ring: KeyRing) => KeyRing | null,
): Promise<Result<null, Failure>> {
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const sealed = await systemOf(env).sealedKeyRing();
    const opened = await openKeyRing(env, sealed);
    if (!opened.ok) return opened;
    const changed = change(opened.value.ring);
    if (changed === null || sealed === null) return ok(null);
    if (await systemOf(env).replaceKeyRing(sealed, await sealKeyRing(changed, opened.value.sealKey))) return ok(null);
  }
  return err(BUSY);
}

/**
 * Reports what this isolate has encrypted since the last report, and begins a new term when one is due.
 *
 * What an isolate encrypted after its last report is lost with it: the count that operators see is a little low.
 */
export async function reportKeyUse(env: Env, keys: Keys, now: number): Promise<void> {
  const term = keys.currentDataVersion;
  const count = keys.data.get(term)?.takeEncryptions() ?? 0;
  const { settings, encryptions } = await systemOf(env).noteEncryptions(term, count);
  if (!isRotationDue(settings, { installedAt: keys.termBeganAt, encryptions }, now)) return;
  await changeKeyRing(env, (ring) => {
    // Another isolate may have done it meanwhile.
    const isOurs = currentTerm(ring).version === term;
    return isOurs && ring.data.length < MAX_TERMS ? withNewTerm(ring, now) : null;
  });
}
