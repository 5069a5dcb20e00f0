import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { SERVER_PACKAGE } from "../package/write-package.ts";

/** The file in `node_modules` in which npm records what it has installed there. */
const LOCKFILE = ".package-lock.json";
const LOCK = z.object({ packages: z.record(z.string(), z.object({ resolved: z.string().optional() })) });

/** From where npm installed this package. */
export type Origin = { readonly kind: "registry" | "unknown" } | { readonly kind: "archive"; readonly path: string };

/** @param directory of the package, in the `node_modules` that it is installed in */
export function originOf(directory: string): Origin {
  const modules = join(directory, "../..");
  const resolved = resolvedIn(join(modules, LOCKFILE));
  if (/^https?:/.test(resolved)) return { kind: "registry" };
  const path = join(modules, "..", resolved.replace(/^file:/, ""));
  return /^file:.*\.tgz$/.test(resolved) && existsSync(path) ? { kind: "archive", path } : { kind: "unknown" };
}

function resolvedIn(lockfile: string): string {
  try {
    const { packages } = LOCK.parse(JSON.parse(readFileSync(lockfile, "utf8")));
    return packages[`node_modules/${SERVER_PACKAGE}`]?.resolved ?? "";
  } catch {
    // A global installation has no such file.
    return "";
  }
}

/**
 * Copies the archive of the package into a folder that shall depend on it. Returns its name; null when a registry has
 * the package. A missing archive is packed again: its content is the same, its digest is not.
 */
export function placeArchive(directory: string, to: string): string | null {
  const origin = originOf(directory);
  if (origin.kind === "registry") return null;
  if (origin.kind === "archive") {
    const name = basename(origin.path);
    copyFileSync(origin.path, join(to, name));
    return name;
  }
  const words = ["pack", "--silent", "--ignore-scripts", "--pack-destination", to];
  return execFileSync("npm", words, { cwd: directory, encoding: "utf8" }).trim();
}
