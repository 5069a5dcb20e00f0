import { timeOfBackup } from "../../src/backup/names.ts";

/** The name of a backup that is not finished. */
export function partialName(name: string): string {
  return `${name}.partial`;
}

/**
 * What may be deleted when `keep` finished backups are to stay (0: all of them), and no other backup is under way. Nothing that
 * a backup did not make is among it.
 */
export function superfluous(entries: readonly string[], keep: number): string[] {
  const finished = entries.filter((name) => timeOfBackup(name) !== null).sort();
  const left = entries.filter(
    (name) => name.endsWith(".partial") && timeOfBackup(name.slice(0, -".partial".length)) !== null,
  );
  return [...left, ...(keep > 0 ? finished.slice(0, Math.max(0, finished.length - keep)) : [])];
}
