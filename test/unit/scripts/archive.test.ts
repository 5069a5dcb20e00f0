import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { originOf, placeArchive } from "../../../scripts/installation/package-origin.ts";

let root: string;
let installed: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "grove-archive-"));
  installed = join(root, "project/node_modules/@grove-tokens/grove");
  folder = join(root, "my-grove");
  for (const directory of [installed, folder]) mkdirSync(directory, { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true }));

/** As npm notes it. */
function noted(resolved: string): void {
  const packages = { "node_modules/@grove-tokens/grove": { version: "1.0.0", resolved } };
  writeFileSync(join(root, "project/node_modules/.package-lock.json"), JSON.stringify({ packages }));
}

it("a package of a registry needs no archive", () => {
  noted("https://registry.example/@grove-tokens/grove/-/grove-1.0.0.tgz");
  expect(placeArchive(installed, folder)).toBeNull();
  expect(readdirSync(folder)).toEqual([]);
});

it("the archive that npm has installed is copied as it is", () => {
  writeFileSync(join(root, "grove-1.0.0.tgz"), "the archive");
  noted("file:../grove-1.0.0.tgz");
  expect(placeArchive(installed, folder)).toBe("grove-1.0.0.tgz");
  expect(readFileSync(join(folder, "grove-1.0.0.tgz"), "utf8")).toBe("the archive");
});

it.each([
  ["npm noted nothing", () => {}],
  ["the archive is gone", () => noted("file:../gone.tgz")],
  ["it is a folder", () => noted("file:../folder")],
  ["the note is damaged", () => writeFileSync(join(root, "project/node_modules/.package-lock.json"), "{")],
])("a package is packed again when %s", (_, note) => {
  note();
  expect(originOf(installed)).toEqual({ kind: "unknown" });
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: "@grove-tokens/grove", version: "1.0.0" }));
  expect(placeArchive(installed, folder)).toBe("grove-tokens-grove-1.0.0.tgz");
  expect(readdirSync(folder)).toEqual(["grove-tokens-grove-1.0.0.tgz"]);
});
