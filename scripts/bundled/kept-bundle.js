import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

export const PROJECT = join(import.meta.dirname, "../..");

/** The Worker's main module. */
export const WORKER = join(PROJECT, "src/index.ts");

/** Inputs of every bundle that the build does not name. */
export const ALWAYS_READ = ["scripts/bundled/make.js", "tsconfig.json"];

/**
 * The path of a program's bundle. It is kept with the sources and not with the data, so that no code from a backup runs. The bundle of a
 * script is two directories below the project, from where it finds the packages. The Worker has a directory of its own, because a
 * deployment uploads every module in it.
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
 * The text of a bundle, with its inputs and their hash in the first line.
 *
 * @param {readonly string[]} inputs files, from the project's root
 * @param {string} text the output of the build
 * @param {object} about further content of the first line
 * @returns {string}
 */
export function withNote(inputs, text, about = {}) {
  return `// ${JSON.stringify({ ...about, inputs, hash: hashOf(inputs, text) })}\n${text}`;
}

/**
 * True when a bundle exists, and neither it nor an input has changed since.
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
