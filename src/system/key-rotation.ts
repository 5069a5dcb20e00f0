import type { Ms } from "../base/clock.ts";
import { madeOnce } from "../base/lost-call-retry.ts";
import { err, invalid, ok, type Result, unavailable } from "../base/result.ts";
import { type KeyRing, type Keys, newestTerm, sealKeyRing, withNewTerm, withoutTerms } from "../crypto/key-ring.ts";
import { type AgedTerm, agedTerms } from "./aged-terms.ts";
import { isRotationDue } from "./automatic-rotation.ts";
import { changeDelayMs, maxCopyAgeMs } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";
import { openKeyRing } from "./open-key-ring.ts";
import { systemOf } from "./system.ts";

/** A change of the key ring is given up after it has lost this many times in a row against a concurrent change. */
const MAX_TRIES = 5;

/** Maximum number of terms: a forged token is hashed under the key of each before it is refused. */
export const MAX_KEY_TERMS = 16;

const TOO_MANY_TERMS = invalid(`there are ${MAX_KEY_TERMS} terms of keys already, as many as there may be`);
const BUSY = unavailable("the keys are being changed; try again");

/**
 * Begins a new term at `now`. Values are sealed and tokens are hashed under its keys as soon as every isolate has read
 * it: twice POLICY_CACHE_SECONDS later. Values and tokens of earlier terms stay valid. A 400 with `MAX_KEY_TERMS` terms.
 */
export async function rotateKeys(env: SystemEnv, now: Ms): Promise<Result<null>> {
  let full = false;
  const rotated = await changeKeyRing(env, (ring) => {
    full = ring.data.length >= MAX_KEY_TERMS;
    return full ? null : withNewTerm(ring, now, usedFrom(env, now));
  });
  return full ? err(TOO_MANY_TERMS) : rotated;
}

/**
 * Replaces the key ring by the result of `change` (null: nothing to change). Of two concurrent changes the second is
 * applied to the result of the first. A 503 when `MAX_TRIES` races were lost.
 */
async function changeKeyRing(env: SystemEnv, change: (ring: KeyRing) => KeyRing | null): Promise<Result<null>> {
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const sealed = await systemOf(env).sealedKeyRing();
    const opened = await openKeyRing(env, sealed);
    if (!opened.ok) return opened;
    const changed = change(opened.value.ring);
    if (changed === null || sealed === null) return ok(null);
    const replaced = await replaceKeyRing(env, sealed, await sealKeyRing(changed, opened.value.sealKey));
    if (!replaced.ok) return replaced;
    if (replaced.value) return ok(null);
  }
  return err(BUSY);
}

/** Replaces the wrapped key ring `from` by `to`. False when the stored one is not `from`. */
export function replaceKeyRing(env: SystemEnv, from: string, to: string): Promise<Result<boolean>> {
  return madeOnce(env, async (attempt) => await systemOf(env).replaceKeyRing(from, to, attempt));
}

/**
 * Reports this isolate's encryptions since the last report, and begins a new term when one is due. When an
 * isolate ends, its encryptions since the last report are lost, so the count that operators see is a little low. The
 * counts of a report that failed are sent again with the next report.
 */
export async function reportKeyUse(env: SystemEnv, keys: Keys, now: Ms): Promise<void> {
  const counts = keys.terms.map(({ version, data }) => ({ term: version, count: data.takeEncryptions(), data }));
  const [{ version: newest, installedAt }] = keys.terms;
  const used = counts.flatMap(({ term, count }) => (count > 0 ? [{ term, count }] : []));
  const use = await systemOf(env)
    .noteEncryptions(used, newest)
    .catch((error: unknown) => {
      // The System object may have counted them already. Counting twice is safe: the term only ends too early.
      for (const { count, data } of counts) data.noteEncryptions(count);
      throw error;
    });
  if (!isRotationDue(use, installedAt, now)) return;
  await changeKeyRing(env, (ring) => {
    // Another isolate may have begun the new term meanwhile.
    const isOurs = newestTerm(ring).version === newest;
    return isOurs && ring.data.length < MAX_KEY_TERMS ? withNewTerm(ring, now, usedFrom(env, now)) : null;
  });
}

/**
 * The terms that may be dropped if a tidy run that begins at `now` finds no stored value that needs them. None
 * while the service is sealed.
 */
export async function termsToDrop(env: SystemEnv, now: Ms): Promise<AgedTerm[]> {
  const system = systemOf(env);
  const opened = await openKeyRing(env, await system.sealedKeyRing());
  return opened.ok ? agedTerms(opened.value.ring.data, now, await system.longestTtl(), changeDelayMs(env)) : [];
}

/**
 * Drops terms that no stored value needs, and returns their number; 0 when the key ring could not be changed. Values
 * made under them can't be opened or verified any more.
 */
export async function dropTerms(env: SystemEnv, versions: readonly number[], now: Ms): Promise<number> {
  if (versions.length === 0) return 0;
  const longestTtl = await systemOf(env).longestTtl();
  let dropped = 0;
  const done = await changeKeyRing(env, (ring) => {
    // Checked again against the current ring: the System object may have been restored to an earlier state meanwhile.
    const idle = agedTerms(ring.data, now, longestTtl, changeDelayMs(env)).filter(({ version }) =>
      versions.includes(version),
    );
    dropped = idle.length;
    return withoutTerms(ring, new Set(idle.map(({ version }) => version)));
  });
  return done.ok ? dropped : 0;
}

/** Time by which every isolate has read a key ring stored at `now`. Its newest term is not used before. */
function usedFrom(env: SystemEnv, now: Ms): Ms {
  return now + 2 * maxCopyAgeMs(env);
}
