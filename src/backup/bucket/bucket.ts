import { inGroups } from "../../base/parallel.ts";
import { timeOfBackup } from "../names.ts";
import { type BackupPlace, folderOf, keyOfFile, MANIFEST, partsOf, placeText, readPlace } from "./place.ts";

/** Entries of a list that one call to the bucket brings, and keys that one deletes. */
const PAGE = 1000;
/** Pages of a list that are read: far more than a backup has parts. */
const MAX_PAGES = 100;
/** Installations, and backups of each, that a list of the bucket names. */
const MAX_INSTALLATIONS = 20;
const MAX_LISTED = 20;

/** Writes a file of a backup. */
export async function putFile(
  bucket: R2Bucket,
  place: BackupPlace,
  file: string,
  content: string | Uint8Array<ArrayBuffer>,
): Promise<void> {
  const key = keyOfFile(place, file);
  if (key === null) throw new Error("this is no file of a backup");
  await bucket.put(key, content);
}

/** Which of the parts of a backup, by SHA-256, are not in the bucket. */
export async function missingParts(
  bucket: R2Bucket,
  place: BackupPlace,
  parts: readonly string[],
): Promise<readonly string[]> {
  const keys = await listAll(bucket, { prefix: partsOf(place) }, ({ objects }) => objects.map(({ key }) => key));
  const there = new Set(keys);
  return parts.filter((sha256) => !there.has(keyOfFile(place, sha256) ?? ""));
}

/** The newest backups of each installation in the bucket that are whole, as `placeText` names them, the oldest first. */
export async function listBackups(bucket: R2Bucket): Promise<string[]> {
  const { delimitedPrefixes } = await bucket.list({ delimiter: "/", limit: MAX_INSTALLATIONS });
  const found: string[] = [];
  for (const prefix of delimitedPrefixes) {
    const places = await placesOf(bucket, prefix.slice(0, -1));
    const whole = await wholeOnes(bucket, places.slice(-MAX_LISTED));
    found.push(...whole.map(placeText));
  }
  const timeOf = (text: string) => timeOfBackup(readPlace(text)?.name ?? "") ?? 0;
  return found.sort((a, b) => timeOf(a) - timeOf(b));
}

/**
 * Deletes something of the old backups of an installation: all but the newest `keep` whole ones are old. A backup without a manifest is
 * still being made, unless it was begun before `begunBefore` (ms).
 *
 * @returns true when nothing is left to delete.
 */
export async function deleteOld(
  bucket: R2Bucket,
  clusterId: string,
  keep: number,
  begunBefore: number,
): Promise<boolean> {
  const places = await placesOf(bucket, clusterId);
  const whole = await wholeOnes(bucket, places);
  const kept = new Set(whole.slice(-keep).map(({ name }) => name));
  const isWhole = new Set(whole.map(({ name }) => name));
  const old = places.find(
    ({ name }) => !kept.has(name) && (isWhole.has(name) || (timeOfBackup(name) ?? 0) < begunBefore),
  );
  if (!old) return true;
  // The manifest goes first: there is none over parts that are missing.
  const manifest = keyOfFile(old, MANIFEST);
  if (manifest !== null) await bucket.delete(manifest);
  const { objects } = await bucket.list({ prefix: folderOf(old), limit: PAGE });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return false;
}

/** All backups of an installation, whole or not, the oldest first. */
async function placesOf(bucket: R2Bucket, clusterId: string): Promise<BackupPlace[]> {
  const options = { prefix: `${clusterId}/`, delimiter: "/" };
  const folders = await listAll(bucket, options, ({ delimitedPrefixes }) => delimitedPrefixes);
  return folders
    .map((folder) => folder.slice(0, -1))
    .sort()
    .flatMap((text) => readPlace(text) ?? []);
}

async function wholeOnes(bucket: R2Bucket, places: readonly BackupPlace[]): Promise<BackupPlace[]> {
  const heads = await inGroups(places, (place) => bucket.head(keyOfFile(place, MANIFEST) ?? ""));
  return places.filter((_, at) => heads[at] !== null);
}

/** What `read` takes of each page of a list of the bucket. */
async function listAll(
  bucket: R2Bucket,
  options: R2ListOptions,
  read: (page: R2Objects) => readonly string[],
): Promise<string[]> {
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
