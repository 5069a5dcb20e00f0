import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { PROJECT } from "../local/worker-definition.ts";

/** The fields of package.json that differ between the packages. */
export interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** Writes package.json, README, licence and changelog into the directory of a package, and packs it. Returns the tarball's name. */
export function packPackage(directory: string, manifest: Manifest, readme: string, to: string): string {
  const { version, license } = project;
  const repository = { type: "git", url: `git+${REPOSITORY}.git` };
  const whole = { ...manifest, version, license, type: "module", repository };
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(whole, null, 2)}\n`);
  writeFileSync(join(directory, "README.md"), readme);
  for (const name of ["LICENSE", "CHANGELOG.md"]) cpSync(join(PROJECT, name), join(directory, name));
  const words = ["pack", "--silent", "--ignore-scripts", "--pack-destination", to];
  return execFileSync("npm", words, { cwd: directory, encoding: "utf8" }).trim();
}

/** The scope that the packages are published under. */
const SCOPE = "@grove-tokens";

/** The repository of the sources. npm's provenance requires that a package names the repository that built it. */
export const REPOSITORY = project.homepage;

/** The server with its commands. */
export const SERVER_PACKAGE = `${SCOPE}/grove`;

/** The client for Workers that ask Grove about tokens. */
export const CLIENT_PACKAGE = `${SCOPE}/client`;
