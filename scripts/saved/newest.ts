import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { timeOfBackup } from "../../src/backup/names.ts";
import { verifyCopy } from "../backup/verify.ts";
import { verifyBackup } from "./make.ts";
import { BackupStore } from "./store.ts";

/** The newest backup of a directory, of either kind. */
export interface NewestBackup {
  readonly name: string;
  /** When it was begun (ms). */
  readonly at: number;
  /** Why it can't be restored, for the operator; null: all of it was read and is whole. */
  readonly problem: string | null;
}

/** Finds the newest backup of a directory and reads all of it: a copy of files, or what a server was asked for. Null without any. */
export function newestBackup(directory: string): NewestBackup | null {
  const entries = existsSync(directory) ? readdirSync(directory) : [];
  const found = entries.flatMap((entry) => {
    const name = entry.replace(/\.json$/, "");
    const at = timeOfBackup(name);
    return at === null ? [] : [{ entry, name, at }];
  });
  const newest = found.sort((a, b) => a.at - b.at).at(-1);
  if (!newest) return null;
  const { entry, name, at } = newest;
  const verified = entry === name ? verifyCopy(join(directory, name)) : verifyBackup(new BackupStore(directory), name);
  return { name, at, problem: verified.ok ? null : verified.error };
}
