import { err, ok, type Result } from "../../../src/base/result.ts";
import { helpAsCalled } from "../../local/command-line.ts";
import type { Manifest } from "./manifest.ts";
import { BackupStore } from "./store.ts";

/** Reads all files of a backup and compares them with the manifest. The error is for the operator. */
export function verifyBackup(store: BackupStore, name: string): Result<Manifest, string> {
  const manifest = store.read(name);
  if (!manifest.ok) return manifest;
  const { files, parts, run, started_at: at } = manifest.value;
  // The seal covers the name of the run, which begins with its time.
  if (Date.parse(at) !== Number(run.split(".")[0])) return err(`${name}: it was not begun at ${at}`);
  if (files.length !== parts) return err(`${name}: the manifest names ${files.length} of ${parts} parts`);
  for (const part of files) {
    const content = store.content(part);
    if (!content.ok) return err(`${name}: ${content.error}`);
  }
  return manifest;
}

/** A verified backup. */
export interface Restorable {
  readonly store: BackupStore;
  readonly name: string;
  readonly manifest: Manifest;
}

/** Finds a backup by its name (null for the newest) and verifies it. The error is for the operator. */
export function restorableBackup(directory: string, wanted: string | null): Result<Restorable, string> {
  const store = new BackupStore(directory);
  const name = wanted ?? store.names().at(-1);
  if (name === undefined) {
    return err(
      `there is no backup in ${directory} that was made with --address; a copy of files is put back by hand (${helpAsCalled("docs/runbook.md")}, Restore)`,
    );
  }
  const verified = verifyBackup(store, name);
  return verified.ok ? ok({ store, name, manifest: verified.value }) : verified;
}
