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

/** Bytes of the text of a part. A page can be that much larger by its last row. */
const MAX_PART_BYTES = 4 * (PART_CHARACTERS + PAGE_CHARACTERS);

/** There is an installation already. */
export const NOT_EMPTY = invalid("a backup is restored into a deployment that was never initialized, and this one was");
const NOT_RESTORING = invalid("no restore is under way here");
const NOT_WHOLE = invalid("not all parts of the backup were restored");
const FOREIGN_RING = invalid(
  "key_ring can't be opened: GROVE_SEAL_KEY (or GROVE_SEAL_KEY_PREVIOUS) of this deployment must be the key that wrapped it",
);
const NOT_SEALED = invalid("the seal does not hold: this is not what the server of the backup has made");

/** The head of a backup. */
export interface BackupHead {
  readonly run: string;
  readonly parts: number;
  readonly keyRing: string;
  readonly seal: string;
}

/**
 * Begins to restore a backup into a new deployment, which has the same seal key. Until `finishRestore` it answers nothing else. Safe
 * to repeat.
 */
export async function beginRestore(env: Env, { run, parts, keyRing, seal }: BackupHead): Promise<Result<null>> {
  const opened = await openKeyRing(env, keyRing);
  if (!opened.ok) return err(FOREIGN_RING);
  const keys = await importKeys(opened.value.ring);
  if (!isSeal(seal, await sealOfBackup(keys, run, parts))) return err(NOT_SEALED);
  if (!(await systemOf(env).beginRestore(run, keyRing))) return err(NOT_EMPTY);
  await refreshInstallation(env);
  return ok(null);
}

/** A part as its file holds it. */
export interface FiledPart {
  readonly number: number;
  readonly seal: string;
  /** base64 of the compressed text. */
  readonly content: string;
}

/** Restores a part of the backup that is under way. Safe to repeat. Returns the receipt. */
export async function restorePart(env: Env, { number, seal, content }: FiledPart): Promise<Result<string>> {
  const restoring = await loadRestoring(env);
  if (!restoring.ok) return err(NOT_RESTORING);
  const { restoring: run, keys } = restoring.value;
  const bytes = fromBase64(content);
  if (!bytes) return refuse("part must be base64");
  const text = await decompress(bytes, MAX_PART_BYTES);
  if (!text.ok) return refuse(`the part can't be read: ${text.error}`);
  const expected = await sealOfPart(keys, { run, number }, await sha256Of(text.value));
  if (!isSeal(seal, expected)) return err(NOT_SEALED);
  // The seal says that a server of this installation has written it.
  const part: Part = JSON.parse(text.value);
  const written = await writePart(env, part);
  if (!written.ok) return written;
  // The rows of the System object say where tokens are listed.
  await refreshInstallation(env);
  return ok(toBase64(await receiptOf(keys, { run, number })));
}

/** What ends a restore. */
export interface EndOfRestore {
  readonly run: string;
  readonly parts: number;
  /** The seal of the backup. */
  readonly seal: string;
  /** All receipts together, see `proofOf`. */
  readonly proof: string;
  readonly ends: EndsOfRestore;
}

/** Opens the installation once all parts were restored. Safe to repeat. */
export async function finishRestore(env: Env, end: EndOfRestore): Promise<Result<null>> {
  // The answer to an earlier try may have been lost.
  const open = await loadInstallation(env);
  const restored = open.ok ? open : await loadRestoring(env);
  if (!restored.ok) return err(NOT_RESTORING);
  const { keys, restoring } = restored.value;
  const isBackup = isSeal(end.seal, await sealOfBackup(keys, end.run, end.parts));
  if (!isBackup || end.parts > MAX_PARTS) return err(NOT_WHOLE);
  // The proof takes a hash for each part: of another run none is made.
  if (restoring !== null && (restoring !== end.run || !isSeal(end.proof, await proofOf(keys, end.run, end.parts))))
    return err(NOT_WHOLE);
  if (!(await systemOf(env).finishRestore(end.run, end.ends, currentTime()))) return err(NOT_RESTORING);
  const loaded = await refreshInstallation(env);
  return loaded.ok ? ok(null) : loaded;
}

function isSeal(sent: string, seal: Uint8Array): boolean {
  const bytes = fromBase64(sent);
  return bytes !== null && equalBytes(bytes, seal);
}
