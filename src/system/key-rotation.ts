import { err, invalid, ok, type Result, unavailable } from "../base/result.ts";
import { type KeyRing, type Keys, newestTerm, sealKeyRing, withNewTerm } from "../crypto/key-ring.ts";
import { type AgedTerm, agedTerms, withoutTerms } from "../crypto/key-terms.ts";
import { maxSnapshotAgeMs, snapshotMaxAgeMs } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";
import { openKeyRing } from "./open-ring.ts";
import { isRotationDue } from "./rotation-rules.ts";
import { systemOf } from "./system.ts";

/** Changes that lose against another one this often in a row are given up. */
const MAX_TRIES = 5;

/** Terms at once: a forged token is hashed under the key of each before it is refused. */
const MAX_TERMS = 16;

const TOO_MANY_TERMS = invalid(`there are ${MAX_TERMS} terms of keys already, as many as there may be`);
const BUSY = unavailable("the keys are being changed; try again");

/**
 * Begins a new term. Values are sealed and tokens are hashed under its keys as soon as every isolate has read it: twice
 * POLICY_CACHE_SECONDS later. What was made under earlier terms stays valid.
 */
export async function rotateKeys(env: SystemEnv, now: number): Promise<Result<null>> {
  let full = false;
  const rotated = await changeKeyRing(env, (ring) => {
    full = ring.data.length >= MAX_TERMS;
    return full ? null : withNewTerm(ring, now, usedFrom(env, now));
  });
  return full ? err(TOO_MANY_TERMS) : rotated;
}

/**
 * Replaces the key ring by what `change` makes of it. Of two changes at once the second is made on the result of the first.
 *
 * @param change returns null when there is nothing to change.
 */
async function changeKeyRing(env: SystemEnv, change: (ring: KeyRing) => KeyRing | null): Promise<Result<null>> {
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
 * What an isolate encrypted after its last report is lost with it: the count that operators see is a little low. What a report carried
 * that was not answered is in the next one, too.
 */
export async function reportKeyUse(env: SystemEnv, keys: Keys, now: number): Promise<void> {
  const counts = keys.terms.map(({ version, data }) => ({ term: version, count: data.takeEncryptions(), data }));
  const [{ version: newest }] = keys.terms;
  const used = counts.flatMap(({ term, count }) => (count > 0 ? [{ term, count }] : []));
  const { settings, encryptions } = await systemOf(env)
    .noteEncryptions(used, newest)
    .catch((error: unknown) => {
      // They may be counted twice, but none is lost: a count that is too high ends a term too early.
      for (const { count, data } of counts) data.noteEncryptions(count);
      throw error;
    });
  if (!isRotationDue(settings, { installedAt: keys.termBeganAt, encryptions }, now)) return;
  await changeKeyRing(env, (ring) => {
    // Another isolate may have done it meanwhile.
    const isOurs = newestTerm(ring).version === newest;
    return isOurs && ring.data.length < MAX_TERMS ? withNewTerm(ring, now, usedFrom(env, now)) : null;
  });
}

/**
 * The terms that may go when a tidy run that begins at `now` (ms) finds nothing that needs them. None while the service is
 * sealed.
 */
export async function termsToDrop(env: SystemEnv, now: number): Promise<AgedTerm[]> {
  const system = systemOf(env);
  const opened = await openKeyRing(env, await system.sealedKeyRing());
  return opened.ok ? aged(env, opened.value.ring, now, await system.longestTtl()) : [];
}

/**
 * Drops terms that nothing needs: what was made under them can't be opened, checked or hashed any more.
 *
 * @param now ms.
 * @returns how many there were.
 */
export async function dropTerms(env: SystemEnv, versions: readonly number[], now: number): Promise<number> {
  if (versions.length === 0) return 0;
  const longestTtl = await systemOf(env).longestTtl();
  let dropped = 0;
  const done = await changeKeyRing(env, (ring) => {
    // Checked again against the ring of now: it may be of a restore.
    const idle = aged(env, ring, now, longestTtl).filter(({ version }) => versions.includes(version));
    dropped = idle.length;
    return withoutTerms(
      ring,
      idle.map(({ version }) => version),
    );
  });
  return done.ok ? dropped : 0;
}

/** @param longestTtl seconds. */
function aged(env: SystemEnv, ring: KeyRing, now: number, longestTtl: number): AgedTerm[] {
  return agedTerms(ring.data, now, longestTtl * 1000, maxSnapshotAgeMs(env));
}

/** When every isolate has read a key ring that is stored at `now`: only then may anything be made under its newest term. */
function usedFrom(env: SystemEnv, now: number): number {
  return now + 2 * snapshotMaxAgeMs(env);
}
