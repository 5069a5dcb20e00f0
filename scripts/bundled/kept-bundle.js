import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

export const PROJECT = join(import.meta.dirname, "../..");

/** What a bundle is made from besides the files that it names itself. */
export const ALWAYS_READ = ["scripts/bundled/make.js", "tsconfig.json"];

/**
 * Where the bundle of a program is kept: two directories below the project, as the programs are, with the same packages in reach.
 *
 * @param {string} source path of the program, without symbolic links
 * @returns {string}
 */
export function bundleOf(source) {
  const name = relative(PROJECT, source).replace(/\.ts$/, "").replaceAll(/\W+/g, "-");
  return join(PROJECT, "dist/bundled", `${name}.js`);
}

/**
 * The first line of a bundle: what it was made from.
 *
 * @param {readonly string[]} inputs files, from the project's root
 * @returns {string}
 */
export function noteOf(inputs) {
  return `// ${JSON.stringify({ inputs, hash: hashOf(inputs) })}`;
}

/**
 * True when a bundle is there, and no file that it was made from has changed.
 *
 * @param {string} bundle path
 * @returns {boolean}
 */
export function isCurrent(bundle) {
  try {
    const [note = ""] = readFileSync(bundle, "utf8").split("\n", 1);
    return noteOf(JSON.parse(note.slice("// ".length)).inputs) === note;
  } catch {
    return false;
  }
}

/** @param {readonly string[]} inputs @returns {string} */
function hashOf(inputs) {
  const hash = createHash("sha256");
  for (const name of inputs) {
    const content = readFileSync(join(PROJECT, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("base64");
}
