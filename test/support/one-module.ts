import { linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { type BuildOptions, build, type Plugin as EsbuildPlugin } from "esbuild";
import type { Plugin } from "vitest/config";
import { PROPERTY_SETTINGS } from "./property-settings.ts";

/** A folder of this run: two runs beside each other keep apart. */
const FOLDER = mkdtempSync(join(tmpdir(), "grove-tests-"));
process.once("exit", () => rmSync(FOLDER, { recursive: true, force: true }));

/** The module with all sources in it. Stacks of errors name it, with the function: the runner maps only what it evaluated. */
const ALL = join(FOLDER, "all-sources.mjs");
/**
 * The same file by the names under which the runtime loads it: an isolate evaluates a module once, and each test file in it
 * (new-isolate.ts) needs the sources as they are before the first request. More than there are files of a project.
 */
const NAMES = Array.from({ length: 1000 }, (_, n) => join(FOLDER, `all-sources-${n}.mjs`));
/** The runner's wrappers of the objects: what its own module exports. */
const WRAPPERS = join(FOLDER, "wrappers.mjs");
/** The package of property tests with what it imports: fourteen modules otherwise. */
const FAST_CHECK = join(FOLDER, "fast-check.mjs");
/** What `new-isolate.ts` imports. */
const SOURCES = "grove:sources";

/**
 * What the runtime loads by itself. The runner would transform each and send it with its map in one piece, four times as
 * much; for modules of this size that is half of the time that a test file takes to start.
 */
export const NATIVE_MODULES = [
  {
    type: "ESModule" as const,
    include: ["**/all-sources-*.mjs", "**/wrappers.mjs", "**/fast-check.mjs"],
  },
];

const BUNDLED: BuildOptions = {
  bundle: true,
  target: "es2022",
  platform: "browser",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*", "node:*"],
};

/** What the runner loads: each with its helpers as one module. */
const BUNDLES = /^test\/(workers\/.*\.test|support\/workers-setup)\.ts$/;

/** Written once for all projects. */
let written: Promise<void> | undefined;

/**
 * Gives the tests in the Workers runtime all of `src` as one module, built once, and each test file with its helpers as another. Each
 * test file starts with no module loaded, and some thousand small ones (with those of the packages) take three seconds to fetch one
 * by one. Every source still has its own address: it passes on what the one module exports for it, so that a test and the Worker meet
 * the same classes and the same state.
 */
export function sourcesAsOneModule(root: string, seed: number): Plugin {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(root, "src", file));
  let exported: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let fastCheck: Promise<unknown> | undefined;
  /** What stands in the place of a source; undefined for another file. */
  const passedOn = async (id: string): Promise<string | undefined> => {
    const place = sources.indexOf(id);
    if (place === -1) return undefined;
    exported ??= exportsOf(root, sources);
    const lines = ((await exported).get(id) ?? []).map((name) =>
      name === "default" ? `export default m${place}.default;` : `export const ${name} = m${place}.${name};`,
    );
    return [`const { m${place} } = globalThis.groveSources;`, ...lines].join("\n");
  };
  return {
    name: "sources-as-one-module",
    enforce: "pre",
    async resolveId(id) {
      if (id === SOURCES) return `\0${SOURCES}`;
      if (id !== "fast-check") return undefined;
      fastCheck ??= writeFastCheck(root, seed);
      await fastCheck;
      return FAST_CHECK;
    },
    async load(id) {
      if (id === `\0${SOURCES}`) {
        written ??= writeBundle(root, sources);
        await written;
        return `export const all = ${JSON.stringify(NAMES)};\nexport const wrappers = ${JSON.stringify(WRAPPERS)};`;
      }
      if (BUNDLES.test(relative(root, id))) return withItsHelpers(id, passedOn);
      return passedOn(id);
    },
  };
}

/** A file and all that it imports as one module. Modules of the platform, Vitest and fast-check are not in it. */
async function withItsHelpers(
  file: string,
  passedOn: (id: string) => Promise<string | undefined>,
): Promise<{ readonly code: string; readonly map: string }> {
  const sources: EsbuildPlugin = {
    name: "sources",
    setup({ onResolve, onLoad }) {
      // The text of a file, as Vite imports it.
      onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({ path: resolve(resolveDir, path), external: true }));
      onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const contents = await passedOn(path);
        return contents === undefined ? undefined : { contents, loader: "js" };
      });
    },
  };
  const { outputFiles } = await build({
    ...BUNDLED,
    external: [...(BUNDLED.external ?? []), "vitest", "fast-check", SOURCES],
    entryPoints: [file],
    format: "esm",
    outdir: dirname(file),
    plugins: [sources],
    sourcemap: "external",
    sourcesContent: false,
    write: false,
  });
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  return { code: textOf(".js"), map: textOf(".map") };
}

/** The names that each source exports. */
async function exportsOf(root: string, sources: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...sources],
    format: "esm",
    metafile: true,
    outdir: "unused",
    write: false,
  });
  return new Map(
    Object.values(metafile.outputs).map(({ entryPoint = "", exports }) => [join(root, entryPoint), exports] as const),
  );
}

/** With the settings of `seed.ts`, so that a file without properties does not load it. */
function writeFastCheck(root: string, seed: number): Promise<unknown> {
  const contents = `import fc from "fast-check";
    fc.configureGlobal(${JSON.stringify({ ...PROPERTY_SETTINGS, seed })});
    export * from "fast-check";
    export default fc;`;
  return build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    format: "esm",
    minifyWhitespace: true,
    outfile: FAST_CHECK,
  });
}

/** Writes the one module, under all its names, and the one with the wrappers. */
async function writeBundle(root: string, sources: readonly string[]): Promise<void> {
  const lines = sources.map((source, place) => `export * as m${place} from "./${relative(root, source)}";`);
  await build({
    ...BUNDLED,
    absWorkingDir: root,
    stdin: { contents: lines.join("\n"), resolveDir: root, loader: "ts" },
    format: "esm",
    keepNames: true,
    minifyWhitespace: true,
    outfile: ALL,
  });
  for (const name of NAMES) linkSync(ALL, name);
  writeFileSync(WRAPPERS, 'export * from "/__VITEST_POOL_WORKERS_USER_OBJECT";');
}
