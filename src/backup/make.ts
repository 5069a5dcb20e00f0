import { currentTime, formatRfc3339 } from "../base/clock.ts";
import { err, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { groveVersion } from "../base/version.ts";
import { toBase64 } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { publishRecent } from "../listing/updates/recent.ts";
import type { Installation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { compress, sha256Of } from "./compress.ts";
import { MAX_PARTS, type Part, type Position } from "./part.ts";
import { readPart } from "./read-part.ts";
import { nameOfRun, readRun, sealOfBackup, sealOfPart, versionsOf } from "./seals.ts";

/** The form of backups that this release makes. */
export const FORMAT = 1;

const RESTLESS_RETRY_SECONDS = 10;

/** How long parts are made for a run (ms): a backup is of one time. */
const MAX_RUN_MS = 24 * 3_600_000;
const UNKNOWN_RUN = invalid("run is none that this server has named");
const TOO_MANY_PARTS = invalid(`a backup has at most ${MAX_PARTS} parts`);

/** A part that was made. */
export interface MadePart {
  readonly run: string;
  readonly number: number;
  readonly next: Position | null;
  /** Of its text, in hex. */
  readonly sha256: string;
  readonly seal: string;
  /** True for the rows of the System object, which are restored first. */
  readonly isFirst: boolean;
  readonly objects: number;
  readonly rows: number;
  /** Compressed; null when the caller has it already. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** A part as clients and manifests name it. */
export interface ListedPart {
  readonly number: number;
  /** Where it begins. */
  readonly position: string;
  /** Where the next one begins; null: it is the last. */
  readonly next: string | null;
  readonly sha256: string;
  readonly seal: string;
  readonly restored_first: boolean;
  readonly objects: number;
  readonly rows: number;
}

/** A part for a manifest. @param position where it begins, as `readPosition` reads it. */
export function listedPart(
  { number, next, sha256, seal, isFirst, objects, rows }: MadePart,
  position: string,
): ListedPart {
  return { number, position, next: next && JSON.stringify(next), sha256, seal, restored_first: isFirst, objects, rows };
}

/** Which part is wanted. */
export interface WantedPart {
  /** "" for a new run. */
  readonly run: string;
  readonly number: number;
  readonly from: Position;
  /** See `readPart`. */
  readonly until: string;
  /** SHA-256 of a part that the caller has; "" for none. */
  readonly known: string;
}

/** Reads and seals the next part of a backup. Safe to repeat: what changed meanwhile is in it as it is then. */
export async function makePart(
  env: Env,
  installation: Installation,
  { run: given, number, from, until, known }: WantedPart,
): Promise<Result<MadePart>> {
  const now = currentTime();
  const begun = given === "" ? ok(null) : await readBegun(installation, given, now);
  if (!begun.ok) return begun;
  if (number >= MAX_PARTS) return err(TOO_MANY_PARTS);
  // What was answered before the run is in it.
  if (number === 0) await publishRecent(env, now);
  const run = given || (await nameOfRun(installation.keys, now));
  const read = await readPart(env, installation, from, until);
  if (!read.ok) {
    return err(unavailable(`an object changed each time that it was read: ${read.error.key}`, RESTLESS_RETRY_SECONDS));
  }
  const { part, rows, next } = read.value;
  const text = JSON.stringify(part);
  const sha256 = await sha256Of(text);
  return ok({
    run,
    number,
    next,
    sha256,
    seal: toBase64(await sealOfPart(installation.keys, { run, number }, sha256)),
    isFirst: isSystemPart(part),
    objects: part.objects.length,
    rows,
    bytes: known === sha256 ? null : await compress(text),
  });
}

/** A backup of which all parts are made, as its manifest begins. */
export interface SealedBackup {
  readonly format: number;
  readonly run: string;
  readonly parts: number;
  readonly started_at: string;
  readonly finished_at: string;
  readonly release: string;
  readonly cluster_id: string;
  /** Version of the seal key that wraps the key ring. */
  readonly seal_key_version: number;
  /** Wrapped. */
  readonly key_ring: string;
  readonly seal: string;
}

/** Seals a backup whose parts are all made. */
export async function sealBackup(
  env: Env,
  installation: Installation,
  run: string,
  parts: number,
): Promise<Result<SealedBackup>> {
  const begun = await readBegun(installation, run, currentTime());
  if (!begun.ok) return begun;
  if (parts < 1) return refuse("parts must be the number of parts of the run");
  if (parts > MAX_PARTS) return err(TOO_MANY_PARTS);
  const { began, terms } = begun.value;
  // A row that was sealed under a key that is gone would be refused.
  const now = versionsOf(installation.keys);
  if (!terms.every((term) => now.includes(term)))
    return refuse("old keys were dropped while the backup was made: begin again");
  const keyRing = await systemOf(env).sealedKeyRing();
  if (keyRing === null) return err({ code: "uninitialized" });
  return ok({
    format: FORMAT,
    run,
    parts,
    started_at: formatRfc3339(began),
    finished_at: formatRfc3339(currentTime()),
    release: groveVersion(env),
    cluster_id: installation.clusterId,
    seal_key_version: installation.sealKeyVersion,
    key_ring: keyRing,
    seal: toBase64(await sealOfBackup(installation.keys, run, parts)),
  });
}

/** A run that is under way at `now` (ms). */
async function readBegun(
  { keys }: Installation,
  name: string,
  now: number,
): Promise<Result<NonNullable<Awaited<ReturnType<typeof readRun>>>>> {
  const run = await readRun(keys, name);
  if (!run) return err(UNKNOWN_RUN);
  return now - run.began < MAX_RUN_MS ? ok(run) : refuse("the run began more than a day ago: begin again");
}

function isSystemPart({ objects }: Part): boolean {
  return objects.some(({ className }) => className === "System");
}
