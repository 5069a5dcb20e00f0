const NAME = /^grove-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z$/;

/** The name of a backup that begins at `now` (ms): names are in the order of time, and two within a second differ. */
export function backupName(now: number): string {
  return `grove-${new Date(now).toISOString().slice(0, 23).replaceAll(/[:.]/g, "-")}Z`;
}

/** When the backup with this name was begun (ms); null for another name. */
export function timeOfBackup(name: string): number | null {
  if (!NAME.test(name)) return null;
  const [date = "", time = ""] = name.slice("grove-".length, -1).split("T");
  return Date.parse(`${date}T${time.replace("-", ":").replace("-", ":").replace("-", ".")}Z`);
}
