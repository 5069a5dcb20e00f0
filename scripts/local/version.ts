import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "./worker-definition.ts";

/** The version in package.json. */
function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as { readonly version: string };
  return version;
}

/**
 * The commit of the sources, with `-dirty` behind it when they were changed since; empty where there is no git or no
 * repository, as in an unpacked archive.
 */
export function sourceCommit(): string {
  try {
    // A service's user is often not the owner of the sources, which git refuses unless an option allows it.
    const options = ["-c", "safe.directory=*", "-C", PROJECT];
    const described = execFileSync(
      "git",
      [...options, "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"],
      {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      },
    ).trim();
    // One who has Grove unpacked inside of another repository must not see that one's commit.
    const root = execFileSync("git", [...options, "rev-parse", "--show-prefix"], { encoding: "utf8" }).trim();
    return root === "" && /^[0-9a-f]+(-dirty)?$/.test(described) ? described : "";
  } catch {
    return "";
  }
}

/** As `sys/health` shows it: `1.0.0-rc.1+fcd9c58a`. */
export function sourceVersion(commit: string): string {
  return commit === "" ? packageVersion() : `${packageVersion()}+${commit}`;
}
