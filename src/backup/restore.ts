import { currentTime } from "../base/clock.ts";
import { err, invalid, ok, type Result, refuse } from "../base/result.ts";
import { equalBytes, fromBase64, toBase64 } from "../crypto/bytes.ts";
import { importKeys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { loadInstallation, loadRestoring, refreshInstallation } from "../system/installation.ts";
import { openKeyRing } from "../system/open-ring.ts";
import type { EndsOfRestore } from "../system/setup.ts";
import { systemOf } from "../system/system.ts";
import { decompress, sha256Of } from "./compress.ts";
import { MAX_PARTS, PAGE_CHARACTERS, PART_CHARACTERS, type Part } from "./part.ts";
import { proofOf, receiptOf, sealOfBackup, sealOfPart } from "./seals.ts";
import { writePart } from "./write-part.ts";

/** Maximum size of the text of a part in bytes. The last row of a page can exceed the limit of the page. */
const MAX_PART_BYTES = 4 * (PART_CHARACTERS + PAGE_CHARACTERS);

export const NOT_EMPTY = invalid("a backup is restored into a deployment that was never initialized, and this one was");
const NOT_RESTORING = invalid("no restore is under way here");
const NOT_WHOLE = invalid("not all parts of the backup were restored");
const FOREIGN_RING = invalid(
  "key_ring can't be opened: GROVE_SEAL_KEY (or GROVE_SEAL_KEY_PREVIOUS) of this deployment must be the key that wrapped it",
);
const NOT_SEALED = invalid("the seal does not hold: this is not what the server of the backup has made");

/** Identifies a backup. The seal covers the other fields. */
interface SealedRun {
  readonly run: string;
  readonly parts: number;
  readonly seal: string;
}

/**
 * Begins to restore a backup into a new deployment with the same seal key. Until `finishRestore` the deployment answers
 * no other requests. Safe to repeat.
 */
export async function beginRestore(env: Env, { run, parts, seal }: SealedRun, keyRing: string): Promise<Result<null>> {
  const opened = await openKeyRing(env, keyRing);
  if (!opened.ok) return err(FOREIGN_RING);
  const keys = await importKeys(opened.value.ring);
  if (!isEqual(seal, await sealOfBackup(keys, run, parts))) return err(NOT_SEALED);
  if (!(await systemOf(env).beginRestore(run, keyRing))) return err(NOT_EMPTY);
  await refreshInstallation(env);
  return ok(null);
}

/**
 * Restores a part of the backup that is being restored. Safe to repeat. Returns the receipt.
 *
 * @param content base64 of the compressed text.
 */
export async function restorePart(env: Env, number: number, seal: string, content: string): Promise<Result<string>> {
  const restoring = await loadRestoring(env);
  if (!restoring.ok) return err(NOT_RESTORING);
  const { restoring: run, keys } = restoring.value;
  const bytes = fromBase64(content);
  if (!bytes) return refuse("part must be base64");
  const text = await decompress(bytes, MAX_PART_BYTES);
  if (!text.ok) return refuse(`the part can't be read: ${text.error}`);
  if (!isEqual(seal, await sealOfPart(keys, { run, number }, await sha256Of(text.value)))) return err(NOT_SEALED);
  // The seal shows that a server of this installation wrote the text.
  const part: Part = JSON.parse(text.value);
  const written = await writePart(env, part);
  if (!written.ok) return written;
  // The rows of the System object tell which shards list the tokens of later parts.
  await refreshInstallation(env);
  return ok(toBase64(await receiptOf(keys, { run, number })));
}

/** Opens the installation after all parts were restored. Safe to repeat. @param proof see `proofOf`. */
export async function finishRestore(
  env: Env,
  { run, parts, seal }: SealedRun,
  proof: string,
  ends: EndsOfRestore,
): Promise<Result<null>> {
  // Open after an earlier attempt whose answer was lost.
  const open = await loadInstallation(env);
  const restored = open.ok ? open : await loadRestoring(env);
  if (!restored.ok) return err(NOT_RESTORING);
  const { keys, restoring } = restored.value;
  const isBackup = isEqual(seal, await sealOfBackup(keys, run, parts));
  if (!isBackup || parts > MAX_PARTS) return err(NOT_WHOLE);
  // The proof costs a hash for each part, so it is not computed for a run that is not being restored.
  if (restoring !== null && (restoring !== run || !isEqual(proof, await proofOf(keys, run, parts))))
    return err(NOT_WHOLE);
  if (!(await systemOf(env).finishRestore(run, ends, currentTime()))) return err(NOT_RESTORING);
  const loaded = await refreshInstallation(env);
  return loaded.ok ? ok(null) : loaded;
}

/** True when `sent` is the base64 of `expected`. */
function isEqual(sent: string, expected: Uint8Array): boolean {
  const bytes = fromBase64(sent);
  return bytes !== null && equalBytes(bytes, expected);
}
