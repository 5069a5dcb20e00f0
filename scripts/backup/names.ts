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

/** The name of a backup that is not finished. */
export function partialName(name: string): string {
  return `${name}.partial`;
}

/**
 * What may be deleted when `keep` finished backups are to stay (0: all of them), and no other backup is under way. Nothing that
 * a backup did not make is among it.
 */
export function superfluous(entries: readonly string[], keep: number): string[] {
  const finished = entries.filter((name) => NAME.test(name)).sort();
  const left = entries.filter((name) => name.endsWith(".partial") && NAME.test(name.slice(0, -".partial".length)));
  return [...left, ...(keep > 0 ? finished.slice(0, Math.max(0, finished.length - keep)) : [])];
}
