import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { timeOfBackup } from "../../src/backup/names.ts";
import type { Manifest } from "./api/manifest.ts";
import { BackupStore } from "./api/store.ts";
import { verifyBackup } from "./api/verify.ts";
import { sealedKeyRingIn } from "./files/sealed-key-ring.ts";
import { type Copy, verifyCopy } from "./files/verify.ts";

/** The newest backup of a directory, of either kind. */
export interface NewestBackup {
  readonly name: string;
  /** When it was begun (ms). */
  readonly at: number;
  /** Why it can't be restored, for the operator; null for a complete backup. */
  readonly problem: string | null;
  /** Version of the seal key that a complete backup needs; null: not known. */
  readonly sealKeyVersion: number | null;
  /** The key ring of a complete backup, wrapped with that seal key; null without one. */
  readonly keyRing: string | null;
  /** The note of a complete copy of files. */
  readonly copy: Copy | null;
  /** The manifest of a complete backup through the API. */
  readonly manifest: Manifest | null;
}

/** Finds and verifies the newest backup of a directory, of either kind. Null without one. */
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
  if (entry === name) return copyIn(directory, name, at);
  const asked = verifyBackup(new BackupStore(directory), name);
  const problem = asked.ok ? null : asked.error.replace(`${name}: `, "");
  const manifest = asked.ok ? asked.value : null;
  const { seal_key_version: sealKeyVersion = null, key_ring: keyRing = null } = manifest ?? {};
  return { name, at, problem, sealKeyVersion, keyRing, copy: null, manifest };
}

/** Verifies one copy of files by its own path. Null when the path does not end with the name of a backup. */
export function backupAt(path: string): NewestBackup | null {
  const whole = resolve(path);
  const at = timeOfBackup(basename(whole));
  return at === null ? null : copyIn(dirname(whole), basename(whole), at);
}

function copyIn(directory: string, name: string, at: number): NewestBackup {
  const read = verifyCopy(join(directory, name));
  const copy = read.ok ? read.value : null;
  const problem = read.ok ? null : read.error;
  const keyRing = copy && sealedKeyRingIn(join(directory, name, "objects"));
  return { name, at, problem, sealKeyVersion: copy?.sealKeyVersion ?? null, keyRing, copy, manifest: null };
}

/** An installation, as the two kinds of backups name it. */
interface Owner {
  /** The directory of its data. */
  readonly data: string;
  /** From its server; null without an answer. */
  readonly clusterId: string | null;
}

/** True when a complete backup below `directory` is known to be of another installation. */
export function isOfAnother(
  directory: string,
  { name, copy, manifest }: Pick<NewestBackup, "name" | "copy" | "manifest">,
  { data, clusterId }: Owner,
): boolean {
  if (copy) return idIn(join(directory, name)) !== idIn(data);
  return isOfAnotherCluster(manifest, clusterId);
}

/** True when a backup through the API is known to be of another installation. @param clusterId null: it is not known. */
export function isOfAnotherCluster(manifest: Manifest | null, clusterId: string | null): boolean {
  return manifest !== null && clusterId !== null && manifest.cluster_id !== clusterId;
}

function idIn(data: string): string {
  return readFileSync(join(data, "installation-id"), "utf8").trim();
}
