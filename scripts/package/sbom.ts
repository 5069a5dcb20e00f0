import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { PROJECT } from "../local/worker-definition.ts";
import { SERVER_PACKAGE } from "./write-package.ts";

/** Libraries that the console is built with: the Worker contains them. */
export const CONSOLE_LIBRARIES = ["d3-hierarchy", "preact"] as const;

/**
 * Lists what the server contains, or is installed or deployed with, as CycloneDX. The project's own manifest differs: the libraries of the console and
 * Wrangler are for development there. So npm gets a manifest of what is shipped, with versions and hashes of the project's lockfile. The
 * client has no dependencies.
 *
 * @param directory an empty directory
 */
export function describeContents(directory: string): string {
  const { version, license, dependencies, devDependencies, overrides } = project;
  const bundled = CONSOLE_LIBRARIES.map((name) => [name, devDependencies[name]] as const);
  const tools = { wrangler: devDependencies.wrangler, workerd: overrides.workerd };
  const shipped = { ...dependencies, ...Object.fromEntries(bundled), ...tools };
  const manifest = { name: SERVER_PACKAGE, version, license, dependencies: shipped, overrides };
  const lock = JSON.parse(readFileSync(join(PROJECT, "package-lock.json"), "utf8"));
  lock.packages[""] = manifest;
  const write = (name: string, content: unknown) => writeFileSync(join(directory, name), JSON.stringify(content));
  write("package.json", manifest);
  write("package-lock.json", { ...lock, name: SERVER_PACKAGE });
  const npm = (...words: string[]) =>
    execFileSync("npm", [...words, "--package-lock-only"], { cwd: directory, encoding: "utf8" });
  // Removes packages that are not shipped from the lockfile; this needs no network.
  npm("install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent");
  const sbom = JSON.parse(npm("sbom", "--sbom-format", "cyclonedx"));
  // npm names the component after the directory.
  sbom.metadata.component.name = SERVER_PACKAGE;
  return `${JSON.stringify(sbom, null, 2)}\n`;
}
