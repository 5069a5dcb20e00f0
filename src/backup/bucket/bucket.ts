import type { Ms } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { isPlace, manifestKey, nameAt, partKey, timeOfBackup } from "../names.ts";

const PAGE = 1000;
/** Maximum number of pages of a list: far more than a backup has parts. */
const MAX_PAGES = 100;
/** Maximum number of installations in a list of backups, and of backups of each. */
const MAX_INSTALLATIONS = 20;
const MAX_LISTED = 20;

/** The parts of a backup, by SHA-256, that are not in the bucket. */
export async function missingParts(bucket: R2Bucket, place: string, parts: readonly string[]) {
  const keys = await listAll(bucket, { prefix: `${place}/` }, ({ objects }) => objects.map(({ key }) => key));
  const found = new Set(keys);
  return parts.filter((sha256) => !found.has(partKey(place, sha256)));
}

/** The places of the newest complete backups of each installation in the bucket, the oldest first. */
export async function listBackups(bucket: R2Bucket): Promise<string[]> {
  const { delimitedPrefixes } = await bucket.list({ delimiter: "/", limit: MAX_INSTALLATIONS });
  const found: string[] = [];
  for (const prefix of delimitedPrefixes) {
    const places = await placesOf(bucket, prefix.slice(0, -1));
    found.push(...(await completeOnes(bucket, places.slice(-MAX_LISTED))));
  }
  return found.sort((a, b) => timeOf(a) - timeOf(b));
}

/**
 * Deletes files of one old backup; true when no old backup is left. All but the newest `keep` complete backups are old.
 * A backup without a manifest is still being made, unless it began before `begunBefore`.
 */
export async function deleteOld(bucket: R2Bucket, clusterId: string, keep: number, begunBefore: Ms) {
  const places = await placesOf(bucket, clusterId);
  const complete = await completeOnes(bucket, places);
  const kept = complete.slice(-keep);
  const isOld = (place: string) => complete.includes(place) || timeOf(place) < begunBefore;
  const old = places.find((place) => !kept.includes(place) && isOld(place));
  if (!old) return true;
  // The manifest is deleted first, so that no manifest names missing parts.
  await bucket.delete(manifestKey(old));
  const { objects } = await bucket.list({ prefix: `${old}/`, limit: PAGE });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return false;
}

/** All backups of an installation, complete or not, the oldest first. */
async function placesOf(bucket: R2Bucket, clusterId: string): Promise<string[]> {
  const options = { prefix: `${clusterId}/`, delimiter: "/" };
  const folders = await listAll(bucket, options, ({ delimitedPrefixes }) => delimitedPrefixes);
  const texts = folders.map((folder) => folder.slice(0, -1));
  return texts.filter(isPlace).sort();
}

function timeOf(place: string): Ms {
  return timeOfBackup(nameAt(place)) ?? 0;
}

async function completeOnes(bucket: R2Bucket, places: readonly string[]): Promise<string[]> {
  const manifests = await inGroups(places, (place) => bucket.head(manifestKey(place)));
  return places.filter((_, at) => manifests[at] !== null);
}

/** Reads all pages of a list of the bucket. `read` returns the entries of a page. */
async function listAll(bucket: R2Bucket, options: R2ListOptions, read: (page: R2Objects) => readonly string[]) {
  const found: string[] = [];
  let cursor: string | undefined;
  for (let number = 0; number < MAX_PAGES; number++) {
    const page = await bucket.list({ ...options, limit: PAGE, ...(cursor && { cursor }) });
    found.push(...read(page));
    if (!page.truncated) break;
    cursor = page.cursor;
  }
  return found;
}
