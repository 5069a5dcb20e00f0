import { hasLostSystem, LOST_SYSTEM } from "../backup/saved-objects.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { logFailedWork } from "../base/log.ts";
import { madeOnce, repeated } from "../base/lost-call-retry.ts";
import { err, invalid, ok, type Result } from "../base/result.ts";
import { importKeys, newKeyRing, parseSealKey, type SealKey, sealKeyRing } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { noteChange, publishRecent } from "../listing/updates/publish.ts";
import { untilInEffect } from "../system/in-effect.ts";
import { type Installation, refreshInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { customIdHashes, newTokenIds } from "../token/ids.ts";
import { PLAIN_RECORD, type TokenSpec, withWatermark } from "../token/record.ts";
import { newTreeId, treeAt } from "../token/tree-stub.ts";
import { customIdsOf } from "../tree/custom-ids.ts";
import { sealToken } from "../tree/token-rows.ts";
import { issue } from "./issue.ts";
import { setupToken } from "./setup.ts";

const ALREADY_INITIALIZED = invalid("Grove is already initialized");
const SETUP_UNDER_WAY = invalid(
  "the start of this installation from a file has begun: sys/init/begin continues it, and sys/init/finish can make a root token",
);

/**
 * Creates the key ring and the first root token of a new installation, once.
 *
 * The token is written before the key ring. After a crash in between there are no keys with which the token would be
 * valid, and the next call starts over; where the server itself ended in between, in an empty data directory, as the
 * next one finds tokens without keys. Of two concurrent calls, the one that stores its key ring first wins.
 *
 * @param loaded the installation as this isolate knows it. Only "uninitialized" lets the call continue.
 * @param rootId "" for a generated root token, else the id that it gets (development only).
 */
export async function initialize(env: Env, loaded: Result<Installation>, rootId: string): Promise<Result<string>> {
  // Clients without a token may call this. In an existing installation a call must create nothing, above all no tree.
  if (loaded.ok) return err(ALREADY_INITIALIZED);
  if (loaded.error.code !== "uninitialized") return loaded;
  if (loaded.error.begun) return err(SETUP_UNDER_WAY);
  const sealKey = await sealKeyForNew(env);
  if (!sealKey.ok) return sealKey;
  const now = currentTime();
  const ring = newKeyRing(now);
  const keys = await importKeys(ring);
  const treeId = newTreeId(env);
  const tree = treeAt(env, treeId);
  const ids = await newTokenIds(keys, treeId, now, rootId || undefined);
  const customId = rootId === "" ? null : (await customIdHashes(keys, rootId, now))[0];
  const spec = rootToken(now, customId?.directoryKey ?? null, 0);
  // The tree can't compute the seal of the row: the keys are stored later.
  const seal = sealToken(keys.rows, treeId, { ...ids, recordJson: JSON.stringify(spec.record) });
  // The id of the tree is random. If the row is taken, an earlier attempt of this call has created the token.
  const created = await repeated(env.deployment, async () => await tree.create(spec, { ...ids, seal }, null));
  if (!created.ok) return created;
  noteChange(treeId, now);
  if (customId) {
    const { directoryKey, whole } = customId;
    await customIdsOf(env, directoryKey).reserve(directoryKey, { treeId, row: ids.row }, null);
    await systemOf(env).admitCustomId(whole);
  }
  const sealedRing = await sealKeyRing(ring, sealKey.value);
  const made = await madeOnce(env, async () => await systemOf(env).initialize(sealedRing, null));
  if (!made.ok) return made;
  if (!made.value) {
    await tree.abandon(ids.row);
    return err(ALREADY_INITIALIZED);
  }
  await refreshInstallation(env);
  try {
    await publishRecent(env, currentTime());
  } catch (error) {
    // It is listed later. The answer is given once, and must not be lost for a list.
    logFailedWork("list of accessors", error);
  }
  return ok(ids.token);
}

/** The seal key, if an installation may be made here. */
async function sealKeyForNew(env: Env): Promise<Result<SealKey>> {
  if (await hasLostSystem(env)) return err(LOST_SYSTEM);
  const sealKey = parseSealKey(env.GROVE_SEAL_KEY ?? "");
  return sealKey.ok ? sealKey : err({ code: "sealed", message: `the secret GROVE_SEAL_KEY ${sealKey.error}` });
}

/**
 * Begins the declared start of a new installation, or continues one that has begun, and returns its setup token. The
 * token of an earlier call is refused from the answer on, so that two programs can't both continue the start.
 *
 * @param loaded as in `initialize`.
 */
export async function beginSetup(env: Env, loaded: Result<Installation>): Promise<Result<string>> {
  if (loaded.ok) return err(ALREADY_INITIALIZED);
  if (loaded.error.code !== "uninitialized") return loaded;
  const nonce = crypto.randomUUID();
  let made = false;
  if (!loaded.error.begun) {
    const sealKey = await sealKeyForNew(env);
    if (!sealKey.ok) return sealKey;
    const sealedRing = await sealKeyRing(newKeyRing(currentTime()), sealKey.value);
    const begun = await madeOnce(env, async () => await systemOf(env).initialize(sealedRing, nonce));
    if (!begun.ok) return begun;
    made = begun.value;
  }
  const goesOn = made ? ok(true) : await changeSetup(env, null, nonce);
  if (!goesOn.ok) return goesOn;
  if (!goesOn.value) return err(ALREADY_INITIALIZED);
  const opened = await refreshInstallation(env);
  // Another isolate may still accept the token of an earlier call.
  if (!made) await untilInEffect(env);
  return opened.ok ? ok(await setupToken(opened.value.keys, nonce)) : opened;
}

/** As `System.changeSetup`, once. */
function changeSetup(env: Env, from: string | null, to: string | null): Promise<Result<boolean>> {
  return madeOnce(env, async (attempt) => await systemOf(env).changeSetup(from, to, attempt));
}

/**
 * Completes the declared start of this nonce: from then on the installation serves requests, and no isolate accepts the
 * setup token any more. With `keepsRoot` the result is a root token, else "".
 */
export async function finishSetup(
  env: Env,
  installation: Installation,
  nonce: string,
  keepsRoot: boolean,
): Promise<Result<string>> {
  const finished = await changeSetup(env, nonce, null);
  if (!finished.ok) return finished;
  if (!finished.value) return err(ALREADY_INITIALIZED);
  await refreshInstallation(env);
  await untilInEffect(env);
  if (!keepsRoot) return ok("");
  // Issued last: a crash in between then leaves no root token that was never returned.
  const spec = rootToken(currentTime(), null, installation.watermarks.newest);
  const issued = await issue(env, installation, spec, null, "");
  return issued.ok ? ok(issued.value.clientToken) : issued;
}

/**
 * Returns a root token that never expires. `customIdKey` is null for a generated id. `watermark`: number of the newest
 * one; 0: none.
 */
export function rootToken(now: Ms, customIdKey: string | null, watermark: number): TokenSpec {
  return {
    type: "service",
    orphan: true,
    expiresAt: null,
    record: {
      ...PLAIN_RECORD,
      policies: ["root"],
      displayName: "root",
      path: "auth/token/root",
      createdAt: now,
      creationTtl: 0,
      leased: false,
      customIdKey,
      ...withWatermark(watermark),
    },
  };
}
