import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NewestBackup } from "../saved/newest.ts";

/** An installation, as the two kinds of backups name it. */
export interface Owner {
  /** The directory of its data. */
  readonly data: string;
  /** As its server says; null: none answers. */
  readonly clusterId: string | null;
}

/** True when a whole backup below `directory` is known to be of another installation. */
export function isOfAnother(
  directory: string,
  { name, copy, manifest }: Pick<NewestBackup, "name" | "copy" | "manifest">,
  { data, clusterId }: Owner,
): boolean {
  if (copy) return idIn(join(directory, name)) !== idIn(data);
  return manifest !== null && clusterId !== null && manifest.cluster_id !== clusterId;
}

function idIn(data: string): string {
  return readFileSync(join(data, "installation-id"), "utf8").trim();
}
