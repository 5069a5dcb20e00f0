import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

export const PROJECT = join(import.meta.dirname, "../..");

/** The Worker's main module. */
export const WORKER = join(PROJECT, "src/index.ts");

/** What a bundle is made from besides the files that it names itself. */
export const ALWAYS_READ = ["scripts/bundled/make.js", "tsconfig.json"];

/**
 * Where the bundle of a program is kept: with the sources, which the operator trusts anyway, and never with the data, so that code from a
 * backup is not run. A script's is two directories below the project, as the scripts are, with the same packages in reach. The Worker is
 * alone in its directory: a deployment takes all modules that are there.
 *
 * @param {string} source path of the program, without symbolic links
 * @returns {string}
 */
export function bundleOf(source) {
  if (source === WORKER) return join(PROJECT, "dist/worker/index.js");
  const name = relative(PROJECT, source).replace(/\.ts$/, "").replaceAll(/\W+/g, "-");
  return join(PROJECT, "dist/bundled", `${name}.js`);
}

/**
 * A bundle as it is kept: its first line says what it was made from.
 *
 * @param {readonly string[]} inputs files, from the project's root
 * @param {string} text what was made of them
 * @param {object} about what else the first line says
 * @returns {string}
 */
export function withNote(inputs, text, about = {}) {
  return `// ${JSON.stringify({ ...about, inputs, hash: hashOf(inputs, text) })}\n${text}`;
}

/**
 * True when a bundle is there, and neither it nor a file that it was made from has changed.
 *
 * @param {string} bundle path
 * @returns {boolean}
 */
export function isCurrent(bundle) {
  try {
    const kept = readFileSync(bundle, "utf8");
    const end = kept.indexOf("\n");
    const { inputs, hash } = JSON.parse(kept.slice("// ".length, end));
    return hashOf(inputs, kept.slice(end + 1)) === hash;
  } catch {
    return false;
  }
}

/** @param {readonly string[]} inputs @param {string} text @returns {string} */
function hashOf(inputs, text) {
  const hash = createHash("sha256").update(text);
  for (const name of inputs) {
    const content = readFileSync(join(PROJECT, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("base64");
}
