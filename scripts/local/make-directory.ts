import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./error-code.ts";

/** As `mkdir -p`. Node's own recursion reports a read-only file system as ENOENT and never ends below /proc. */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST" && statSync(path).isDirectory()) return;
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectory(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}
