import { timeOfBackup } from "../names.ts";

/** A backup in a bucket: that of an installation, under its name. */
export interface BackupPlace {
  /** Of the installation: a bucket can hold backups of several. */
  readonly clusterId: string;
  /** As `backupName` makes it: names are in the order of time. */
  readonly name: string;
}

const CLUSTER_ID = /^[A-Za-z0-9-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** The file of a backup that is written last. */
export const MANIFEST = "manifest";

/** A place as clients name it. */
export function placeText({ clusterId, name }: BackupPlace): string {
  return `${clusterId}/${name}`;
}

/** Reads a place from its text; null for another text. */
export function readPlace(text: string): BackupPlace | null {
  const [clusterId = "", name = "", ...rest] = text.split("/");
  return CLUSTER_ID.test(clusterId) && timeOfBackup(name) !== null && rest.length === 0 ? { clusterId, name } : null;
}

/**
 * The key of a file of a backup. The folder of a backup is what `grove backup` makes in a directory, so that any tool can copy it out
 * of the bucket to be restored.
 *
 * @param file `MANIFEST`, or the SHA-256 of a part. null for another text.
 */
export function keyOfFile(place: BackupPlace, file: string): string | null {
  if (file === MANIFEST) return `${folderOf(place)}${place.name}.json`;
  return SHA256.test(file) ? `${partsOf(place)}${file}.json.gz` : null;
}

/** What the keys of all files of a backup begin with. */
export function folderOf({ clusterId, name }: BackupPlace): string {
  return `${clusterId}/${name}/`;
}

/** What the keys of its parts begin with. */
export function partsOf(place: BackupPlace): string {
  return `${folderOf(place)}parts/`;
}
