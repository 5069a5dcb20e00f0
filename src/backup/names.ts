import type { Ms } from "../base/clock.ts";

const NAME = /^grove-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$/;
const CLUSTER_ID = /^[A-Za-z0-9-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The name of a backup that begins at `now`. Names are in the order of time. */
export function backupName(now: Ms): string {
  return `grove-${new Date(now).toISOString().slice(0, 23).replaceAll(/[:.]/g, "-")}Z`;
}

/** When the backup with this name began; null for a text that is no name of a backup. */
export function timeOfBackup(name: string): Ms | null {
  if (!NAME.test(name)) return null;
  const [date = "", time = ""] = name.slice("grove-".length, -1).split("T");
  return Date.parse(`${date}T${time.replace("-", ":").replace("-", ":").replace("-", ".")}Z`);
}

/** The place of a backup in a bucket, as clients know it. A bucket can hold backups of several installations. */
export function backupPlace(clusterId: string, name: string): string {
  return `${clusterId}/${name}`;
}

/** True for the place of a backup. */
export function isPlace(text: string): boolean {
  const [clusterId = "", name = "", ...rest] = text.split("/");
  return CLUSTER_ID.test(clusterId) && timeOfBackup(name) !== null && rest.length === 0;
}

/** The name of the backup at a place. */
export function nameAt(place: string): string {
  return place.slice(place.indexOf("/") + 1);
}

/**
 * The key of the manifest of a backup, which is written last. The folder has the form of a backup that `grove backup`
 * makes in a directory, so any tool can copy it from the bucket for a restore.
 */
export function manifestKey(place: string): string {
  return `${place}/${nameAt(place)}.json`;
}

/** The key of a part of a backup, by the SHA-256 of the part in hex. */
export function partKey(place: string, sha256: string): string {
  return `${place}/parts/${sha256}.json.gz`;
}

/** The key of the file that a client names: `manifest` or the SHA-256 of a part. null for another text. */
export function keyOfFile(place: string, file: string): string | null {
  if (file === "manifest") return manifestKey(place);
  return SHA256.test(file) ? partKey(place, file) : null;
}
