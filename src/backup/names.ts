const NAME = /^grove-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$/;
const CLUSTER_ID = /^[A-Za-z0-9-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The name of a backup that begins at `now` (ms). Names are in the order of time. */
export function backupName(now: number): string {
  return `grove-${new Date(now).toISOString().slice(0, 23).replaceAll(/[:.]/g, "-")}Z`;
}

/** When the backup with this name began (ms); null for a text that is no name of a backup. */
export function timeOfBackup(name: string): number | null {
  if (!NAME.test(name)) return null;
  const [date = "", time = ""] = name.slice("grove-".length, -1).split("T");
  return Date.parse(`${date}T${time.replace("-", ":").replace("-", ":").replace("-", ".")}Z`);
}

/** A backup in a bucket. A bucket can hold backups of several installations. */
export interface BackupPlace {
  readonly clusterId: string;
  readonly name: string;
}

/** The name of a backup in a bucket, as clients know it. */
export function placeText({ clusterId, name }: BackupPlace): string {
  return `${clusterId}/${name}`;
}

/** Reads the name of a backup in a bucket; null for another text. */
export function readPlace(text: string): BackupPlace | null {
  const [clusterId = "", name = "", ...rest] = text.split("/");
  return CLUSTER_ID.test(clusterId) && timeOfBackup(name) !== null && rest.length === 0 ? { clusterId, name } : null;
}

/** The prefix of the keys of all files of a backup. */
export function folderOf(place: BackupPlace): string {
  return `${placeText(place)}/`;
}

/**
 * The key of the manifest of a backup, which is written last. The folder has the form of a backup that `grove backup`
 * makes in a directory, so any tool can copy it from the bucket for a restore.
 */
export function manifestKey(place: BackupPlace): string {
  return `${folderOf(place)}${place.name}.json`;
}

/** The key of a part of a backup, by the SHA-256 of the part in hex. */
export function partKey(place: BackupPlace, sha256: string): string {
  return `${folderOf(place)}parts/${sha256}.json.gz`;
}

/** The key of the file that a client names: `manifest` or the SHA-256 of a part. null for another text. */
export function keyOfFile(place: BackupPlace, file: string): string | null {
  if (file === "manifest") return manifestKey(place);
  return SHA256.test(file) ? partKey(place, file) : null;
}
