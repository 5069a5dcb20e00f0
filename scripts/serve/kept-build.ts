import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { PROJECT, readWorkerDefinition } from "../local/worker-definition.ts";
import { type BundleModule, buildWorker } from "./bundle.ts";
import type { Definition } from "./worker.ts";

/** A built Worker. */
export interface Build {
  readonly definition: Definition;
  /** Names of files, the main one first. */
  readonly modules: readonly BundleModule[];
}

/** Beside the kept modules: the next start reads from it whether they still fit the sources. */
interface Note extends Build {
  /** Every file that the build read, from the project's root. */
  readonly inputs: readonly string[];
  /** Of the inputs and of the modules. */
  readonly hash: string;
}

/**
 * Where the last build is kept: with the sources, which the operator trusts anyway, and never with the data, so that code from a
 * backup is not run.
 */
const KEPT = join(PROJECT, "dist/worker");
const NOTE = "build.json";

const BUILD_ADVICE = `If this user may not write in ${PROJECT}, run npm run build there as its owner first`;

/** What a build depends on besides the files that it names itself. */
const ALWAYS_READ = ["package.json", "package-lock.json", "wrangler.toml", "tsconfig.json", "scripts/build-console.js"];

/** The sources of the console. The Worker's build names only the module that is made from them. */
function consoleSources(): string[] {
  const files = readdirSync(join(PROJECT, "console"), { recursive: true, withFileTypes: true });
  return files.filter((file) => file.isFile()).map((file) => relative(PROJECT, join(file.parentPath, file.name)));
}

/**
 * Puts the modules of the built Worker into a directory: those of the last build while no file that it was made from has changed,
 * those of a new build otherwise. A build takes seconds and some hundred MB of memory.
 *
 * @param directory is made, and emptied first
 * @returns the error is for the operator
 */
export async function openBuild(directory: string): Promise<Result<Build, string>> {
  const kept = takeKept(directory);
  if (kept !== undefined) return ok(kept);

  const definition = await readWorkerDefinition();
  if (!definition.ok) return err(`${definition.error}\n${BUILD_ADVICE}`);
  const made = mkdtempSync(join(tmpdir(), "grove-build-"));
  try {
    // A service's user often has no home directory that Wrangler could keep its own settings in.
    const built = await buildWorker(definition.value, join(made, "worker"), join(made, "settings"));
    if (!built.ok) return err(`${built.error}\n${BUILD_ADVICE}`);
    const { modules } = built.value;
    const inputs = [...new Set([...ALWAYS_READ, ...consoleSources(), ...built.value.inputs])].sort();
    const build: Build = { definition: definition.value, modules };
    copyModules(modules, join(made, "worker"), directory);
    keep(directory, { ...build, inputs, hash: hashOf(directory, inputs, modules) });
    return ok(build);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/**
 * The same for a package: the note names no sources, as the package has none, so that it always counts as current.
 *
 * @param directory gets the modules and their note
 */
export async function buildForPackage(directory: string): Promise<Result<Build, string>> {
  const build = await openBuild(directory);
  if (!build.ok) return build;
  const { definition, modules } = build.value;
  const note: Note = { definition, modules, inputs: [], hash: hashOf(directory, [], modules) };
  // Without the paths of the machine that packs.
  writeFileSync(join(directory, NOTE), JSON.stringify(note).replaceAll(PROJECT, ""));
  return build;
}

/** Copies the kept modules, and checks the copy; undefined when there are none or they are not those of the sources. */
function takeKept(directory: string): Build | undefined {
  try {
    const note: Note = JSON.parse(readFileSync(join(KEPT, NOTE), "utf8"));
    copyModules(note.modules, KEPT, directory);
    return hashOf(directory, note.inputs, note.modules) === note.hash ? note : undefined;
  } catch {
    // Not there before the first start, or replaced by another start at this moment.
    return undefined;
  }
}

/** Keeps a build for the next start. Best effort: where the project can't be written the next start builds again. */
function keep(directory: string, note: Note): void {
  try {
    mkdirSync(join(PROJECT, "dist"), { recursive: true });
    const made = mkdtempSync(join(PROJECT, "dist/build-"));
    copyModules(note.modules, directory, made);
    writeFileSync(join(made, NOTE), JSON.stringify(note));
    // Code is no secret: a server that runs as another user reads what an operator built.
    chmodSync(made, 0o755);
    for (const name of [NOTE, ...note.modules.map((module) => module.name)]) chmodSync(join(made, name), 0o644);
    rmSync(KEPT, { recursive: true, force: true });
    renameSync(made, KEPT);
  } catch {
    // Read-only, or another start was faster.
  }
}

function copyModules(modules: readonly BundleModule[], from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  for (const { name } of modules) copyFileSync(join(from, name), join(to, name));
}

/** SHA-256 of all files with their names, in base64; a file that is missing counts as such. */
function hashOf(directory: string, inputs: readonly string[], modules: readonly BundleModule[]): string {
  const hash = createHash("sha256");
  for (const name of inputs) hash.update(`${name}\0${digest(join(PROJECT, name))}\0`);
  for (const { name } of modules) hash.update(`${name}\0${digest(join(directory, name))}\0`);
  return hash.digest("base64");
}

function digest(path: string): string {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("base64");
  } catch {
    return "missing";
  }
}
