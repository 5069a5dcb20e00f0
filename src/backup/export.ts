import { currentTime, formatRfc3339, type Ms } from "../base/clock.ts";
import { err, type Failure, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { groveVersion } from "../base/version.ts";
import { toBase64 } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { publishRecent } from "../listing/updates/publish.ts";
import type { Installation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { compress, MAX_PARTS, type PartPosition, readPart, readPosition, sha256Of } from "./part-format.ts";
import { classesInOrder } from "./saved-objects.ts";
import { nameOfRun, readRun, sealOfBackup, sealOfPart, versionsOf } from "./seals.ts";

const FORMAT = 1;

/** Maximum age of a run, in ms, at which its parts are made. */
export const MAX_RUN_MS = 24 * 3_600_000;
const CHANGING_OBJECT_RETRY_SECONDS = 10;

const TOO_MANY_PARTS = invalid(`a backup has at most ${MAX_PARTS} parts`);

interface PartRequest {
  /** "" for a new run. */
  readonly run: string;
  readonly number: number;
  /** Where the part begins: `next` of the previous part; "" for the first part. */
  readonly position: string;
  /** A position at which the part ends at the latest; "" for none. */
  readonly until: string;
  /** SHA-256 of a part that the client has; "" for none. */
  readonly known: string;
}

/** A part, as clients and manifests describe it. */
export interface ListedPart {
  readonly number: number;
  readonly position: string;
  /** Where the next part begins; null for the last part. */
  readonly next: string | null;
  /** Of the part before compression, in hex. */
  readonly sha256: string;
  readonly seal: string;
  /** True for the rows of the System object, which are restored first. */
  readonly restored_first: boolean;
  readonly objects: number;
  readonly rows: number;
}

/** Reads where a part begins, and where it ends at the latest. Refuses (400) positions and runs of another server. */
export async function readPartRequest(
  env: Env,
  installation: Installation,
  { run, number, position, until }: PartRequest,
): Promise<Result<{ readonly from: PartPosition; readonly last: PartPosition }>> {
  const from = readPosition(env, position);
  const last = readPosition(env, until);
  if (!from || !last) return refuse("position is none that this server has answered");
  const started = run === "" ? ok(null) : await readStart(env, installation, run, currentTime());
  if (!started.ok) return started;
  return number >= MAX_PARTS ? err(TOO_MANY_PARTS) : ok({ from, last });
}

/** Reads and seals a part. A repeated call reads the objects again. `bytes` null: the client has the content. */
export async function makePart(
  env: Env,
  installation: Installation,
  request: PartRequest,
): Promise<Result<{ run: string; part: ListedPart; bytes: Uint8Array<ArrayBuffer> | null }>> {
  const places = await readPartRequest(env, installation, request);
  if (!places.ok) return places;
  const { from, last } = places.value;
  const { run: given, number, position, known } = request;
  const now = currentTime();
  // Trees are found by their listed tokens, so all tokens that were answered before the run must be listed.
  if (number === 0) await publishRecent(env, now);
  const run = given || (await nameOfRun(installation.keys, classesInOrder(env), now));
  const read = await readPart(env, installation, from, last.after);
  if (!read.ok) {
    const message = `an object changed each time that it was read: ${read.error}`;
    return err(unavailable(message, CHANGING_OBJECT_RETRY_SECONDS));
  }
  const { part, rows, next } = read.value;
  const text = JSON.stringify(part);
  const sha256 = await sha256Of(text);
  const listed: ListedPart = {
    number,
    position,
    next: next && JSON.stringify(next),
    sha256,
    seal: toBase64(await sealOfPart(installation.keys, run, number, sha256)),
    restored_first: part.objects.some(({ className }) => className === "System"),
    objects: part.objects.length,
    rows,
  };
  return ok({ run, part: listed, bytes: known === sha256 ? null : await compress(text) });
}

/** Reads the name of a run whose parts are all made, and checks their number. */
export async function readWholeRun(env: Env, installation: Installation, run: string, parts: number) {
  const started = await readStart(env, installation, run, currentTime());
  if (!started.ok) return started;
  if (parts < 1) return refuse("parts must be the number of parts of the run");
  return parts > MAX_PARTS ? err(TOO_MANY_PARTS) : started;
}

/** Seals a backup when all its parts are made. Returns the head of its manifest. */
export async function sealBackup(env: Env, installation: Installation, run: string, parts: number) {
  const started = await readWholeRun(env, installation, run, parts);
  if (!started.ok) return started;
  // A restore would refuse a row whose seal is of a dropped key.
  const versions = versionsOf(installation.keys);
  if (!started.value.terms.every((term) => versions.includes(term)))
    return refuse("old keys were dropped while the backup was made: begin again");
  const keyRing = await systemOf(env).sealedKeyRing();
  if (keyRing === null) return err<Failure>({ code: "uninitialized" });
  return ok({
    format: FORMAT,
    run,
    parts,
    started_at: formatRfc3339(started.value.began),
    finished_at: formatRfc3339(currentTime()),
    release: groveVersion(env),
    cluster_id: installation.clusterId,
    seal_key_version: installation.sealKeyVersion,
    key_ring: keyRing,
    seal: toBase64(await sealOfBackup(installation.keys, run, parts)),
  });
}

/** Reads the name of a run and checks its age. */
async function readStart(env: Env, { keys }: Installation, name: string, now: Ms) {
  const start = await readRun(keys, classesInOrder(env), name);
  if (!start) return refuse("run is none that this release has named: begin again");
  return now - start.began < MAX_RUN_MS ? ok(start) : refuse("the run began more than a day ago: begin again");
}
