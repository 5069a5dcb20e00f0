import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { PROJECT, type WorkerDefinition } from "../local/worker-definition.ts";
import { runNode, WRANGLER_ENVIRONMENT, wranglerProgram } from "../local/wrangler.ts";

/** What workerd calls the kinds of modules that Wrangler writes. */
export type ModuleKind = "esModule" | "text" | "data" | "wasm";

/** One file of the built Worker. */
export interface BundleModule {
  readonly name: string;
  readonly kind: ModuleKind;
}

const KINDS: Readonly<Record<string, ModuleKind>> = {
  ".js": "esModule",
  ".mjs": "esModule",
  ".wasm": "wasm",
  ".txt": "text",
  ".html": "text",
  ".sql": "text",
  ".bin": "data",
};

/** What a build leaves. */
export interface Bundle {
  /** The main one first. */
  readonly modules: readonly BundleModule[];
  /** Every file that was read, from the project's root. */
  readonly inputs: readonly string[];
}

/**
 * Builds the Worker as `npm run deploy` does, without sending it anywhere.
 *
 * @param directory where the modules go, emptied by the caller
 * @param settings directory that Wrangler may keep its own settings in
 * @returns the error is for the operator
 */
export async function buildWorker(
  definition: WorkerDefinition,
  directory: string,
  settings: string,
): Promise<Result<Bundle, string>> {
  const metafile = join(directory, "bundle-meta.json");
  const config = join(PROJECT, "wrangler.toml");
  const words = ["deploy", "--dry-run", "--config", config, "--outdir", directory, "--metafile", metafile];
  // A service user often has no home directory that Wrangler could make its own in.
  const env = { ...process.env, ...WRANGLER_ENVIRONMENT, XDG_CONFIG_HOME: settings };
  const built = await runNode([wranglerProgram(), ...words], { cwd: PROJECT, env });
  if (!built.ok) return err(`the Worker cannot be built:\n${built.error}`);
  const { inputs }: { readonly inputs: object } = JSON.parse(readFileSync(metafile, "utf8"));
  rmSync(metafile);
  const modules = listModules(definition, readdirSync(directory));
  return modules.ok ? ok({ modules: modules.value, inputs: Object.keys(inputs) }) : modules;
}

/** The modules among the files that a build leaves, the main one first. */
export function listModules(
  definition: Pick<WorkerDefinition, "main">,
  files: readonly string[],
): Result<BundleModule[], string> {
  const main = basename(definition.main ?? "").replace(/\.[^.]+$/, ".js");
  if (!files.includes(main)) return err(`the build has no ${main}`);
  const modules: BundleModule[] = [{ name: main, kind: "esModule" }];
  for (const name of files.toSorted()) {
    if (name === main || name === "README.md" || name.endsWith(".map")) continue;
    const kind = KINDS[extname(name)];
    if (kind === undefined) return err(`the build has a file of a kind that is not known here: ${name}`);
    modules.push({ name, kind });
  }
  return ok(modules);
}
