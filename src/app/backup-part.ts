import type { AppContext } from "./context.ts";

/** True for the upload of a part of a backup, which may be larger than other bodies. */
export function isBackupPart(c: AppContext): boolean {
  const { path } = c.get("head");
  return path.ok && path.value === "sys/restore/part";
}
