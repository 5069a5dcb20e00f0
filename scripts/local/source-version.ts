import { execFileSync } from "node:child_process";
import project from "../../package.json" with { type: "json" };
import { PROJECT } from "./worker-definition.ts";

/**
 * The commit of the sources, with `-dirty` when they have changed since; empty without git or a repository, as in an unpacked archive.
 */
export function sourceCommit(): string {
  try {
    // A service's user is often not the owner of the sources, which git refuses by default.
    const options = ["-c", "safe.directory=*", "-C", PROJECT];
    const git = (...words: readonly string[]): string =>
      execFileSync("git", [...options, ...words], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    const described = git("describe", "--always", "--dirty", "--abbrev=8", "--exclude=*");
    // Sources that were unpacked inside another repository have no commit.
    const root = git("rev-parse", "--show-prefix");
    return root === "" && /^[0-9a-f]+(-dirty)?$/.test(described) ? described : "";
  } catch {
    return "";
  }
}

/** As `sys/health` shows it: `1.0.0-rc.1+fcd9c58a`. */
export function sourceVersion(commit: string): string {
  return commit === "" ? project.version : `${project.version}+${commit}`;
}
