import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "../local/worker-definition.ts";
import { SERVER_PACKAGE } from "./write-package.ts";

/** Files that the documents name, besides sources. Pictures are left out: they would be two thirds of the package. */
const NAMED = ["examples", "ops", "scripts/verify-audit-archive.js", "SECURITY.md"];

/** Copies the documents into a package, with the files that they name. */
export function copyDocs(directory: string): void {
  for (const name of NAMED) cpSync(join(PROJECT, name), join(directory, name), { recursive: true });
  const pages = readdirSync(join(PROJECT, "docs"), { recursive: true, encoding: "utf8" });
  for (const page of pages.filter((name) => name.endsWith(".md"))) {
    const target = join(directory, "docs", page);
    cpSync(join(PROJECT, "docs", page), target);
    writeFileSync(
      target,
      packedPage(readFileSync(target, "utf8"), (path) => existsSync(join(directory, path))),
    );
  }
}

/** A local picture with the empty line after it. */
const PICTURE = /!\[[^\]]*\]\((?!https?:)[^)]*\)\n*/g;
/** A file as a command names it, from the root of a clone. An image is built in a clone only. */
const FILE = /(?<=[\s`])(?:examples|ops|scripts)\/(?!container\/)[\w./-]*\w/g;

/**
 * A document as the package has it: without pictures, and with paths from the folder that the package is installed in.
 *
 * @param isPacked tells whether the package has a file
 */
export function packedPage(text: string, isPacked: (path: string) => boolean): string {
  return text
    .replace(PICTURE, "")
    .replace(FILE, (path) => (isPacked(path) ? `node_modules/${SERVER_PACKAGE}/${path}` : path));
}
