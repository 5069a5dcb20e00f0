import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";
import type { Plugin } from "vitest/config";

/** What `load` gives for a module. */
interface Loaded {
  readonly code: string;
  readonly map: string;
}

/** Name of the module with all sources in it. */
const ALL = "\0grove:all-sources";

/**
 * Gives the tests in the Workers runtime all of `src` as one module, built once. Each test file starts with no module
 * loaded, and some thousand small ones (with those of the packages) take three seconds to fetch one by one; one takes a
 * tenth of that. Every source still has its own address: it passes on what the one module exports for it, so that a test
 * and the Worker meet the same classes and the same state.
 */
export function sourcesAsOneModule(root: string): Plugin {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join(root, "src", file));
  let exported: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let all: Promise<Loaded> | undefined;
  return {
    name: "sources-as-one-module",
    enforce: "pre",
    resolveId: (id) => (id === ALL ? ALL : undefined),
    async load(id) {
      if (id === ALL) {
        all ??= bundle(root, sources);
        return all;
      }
      const place = sources.indexOf(id);
      if (place === -1) return undefined;
      exported ??= exportsOf(root, sources);
      const names = (await exported).get(id) ?? [];
      const lines = names.map((name) =>
        name === "default" ? `export default m${place}.default;` : `export const ${name} = m${place}.${name};`,
      );
      return [`import { m${place} } from ${JSON.stringify(ALL)};`, ...lines].join("\n");
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

async function bundle(root: string, sources: readonly string[]): Promise<Loaded> {
  const lines = sources.map((source, place) => `export * as m${place} from "./${relative(root, source)}";`);
  const { outputFiles } = await build({
    stdin: { contents: lines.join("\n"), resolveDir: root, loader: "ts" },
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    keepNames: true,
    sourcemap: "external",
    sourcesContent: false,
    outfile: join(root, "sources.js"),
    write: false,
  });
  const text = (suffix: string): string => outputFiles.find(({ path }) => path.endsWith(suffix))?.text ?? "";
  return { code: text(".js"), map: text(".js.map") };
}
