import { linkSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { build } from "esbuild";
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
    include: ["**/all-sources-*.mjs", "**/fast-check.mjs"],
  },
];

/** Written once for all projects. */
let written: Promise<void> | undefined;

/**
 * Gives the tests in the Workers runtime all of `src` as one module, built once. Each test file starts with no module
 * loaded, and some thousand small ones (with those of the packages) take three seconds to fetch one by one; one takes a
 * tenth of that. Every source still has its own address: it passes on what the one module exports for it, so that a test
 * and the Worker meet the same classes and the same state.
 */
export function sourcesAsOneModule(root: string, seed: number): Plugin {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(root, "src", file));
  let exported: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let fastCheck: Promise<unknown> | undefined;
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
        return `export const all = ${JSON.stringify(NAMES)};`;
      }
      const place = sources.indexOf(id);
      if (place === -1) return undefined;
      written ??= writeBundle(root, sources);
      exported ??= exportsOf(root, sources);
      const [names] = await Promise.all([exported, written]);
      const lines = (names.get(id) ?? []).map((name) =>
        name === "default" ? `export default m${place}.default;` : `export const ${name} = m${place}.${name};`,
      );
      return [`const { m${place} } = globalThis.groveSources;`, ...lines].join("\n");
    },
  };
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

/** Writes the one module, under all its names. */
async function writeBundle(root: string, sources: readonly string[]): Promise<void> {
  const lines = sources.map((source, place) => `export * as m${place} from "./${relative(root, source)}";`);
  await build({
    absWorkingDir: root,
    stdin: { contents: lines.join("\n"), resolveDir: root, loader: "ts" },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    keepNames: true,
    minifyWhitespace: true,
    outfile: ALL,
  });
  for (const name of NAMES) linkSync(ALL, name);
}
