// Bundles a program unless its kept bundle is current: `node scripts/bundled/make.js scripts/serve.ts`. Packages stay imports in the
// bundle of a script. A bundle of the Worker (`src/index.ts DIR`) is also copied into a directory.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { ALWAYS_READ, bundleOf, isCurrent, PROJECT, WORKER, withNote } from "./kept-bundle.js";

const [, , name = "", directory] = process.argv;
const source = realpathSync(name);
const bundle = bundleOf(source);

/** @type {import("esbuild").BuildOptions} */
const OF_A_SCRIPT = { packages: "external", platform: "node", legalComments: "none" };

/** As Wrangler builds it for a deployment, with the settings of wrangler.toml. @type {import("esbuild").BuildOptions} */
const OF_THE_WORKER = {
  minify: true,
  legalComments: "eof",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*", "node:*"],
  define: { "process.env.NODE_ENV": '"production"' },
};

async function make() {
  const isWorker = source === WORKER;
  // Makes a module that the Worker imports and a fresh clone lacks.
  if (isWorker) await import("../build-console.js");
  const { buildSync } = await import("esbuild");
  const built = buildSync({
    absWorkingDir: PROJECT,
    entryPoints: [source],
    bundle: true,
    ...(isWorker ? OF_THE_WORKER : OF_A_SCRIPT),
    format: "esm",
    target: "es2024",
    logLevel: "error",
    metafile: true,
    write: false,
  });
  const inputs = [...Object.keys(built.metafile?.inputs ?? {}), ...ALWAYS_READ, ...(isWorker ? workerInputs() : [])];
  return withNote([...new Set(inputs)].sort(), built.outputFiles?.[0]?.text ?? "", isWorker ? await definition() : {});
}

/** Further inputs of the Worker: the build itself names only the module that is made from the console. */
function workerInputs() {
  const files = readdirSync(join(PROJECT, "console"), { recursive: true, withFileTypes: true });
  const console = files
    .filter((file) => file.isFile())
    .map((file) => relative(PROJECT, join(file.parentPath, file.name)));
  return [...console, "wrangler.toml", "scripts/build-console.js"];
}

/** The content of wrangler.toml, so that the server that starts the Worker needs no reader of TOML. */
async function definition() {
  const { parse } = await import("smol-toml");
  return { definition: parse(readFileSync(join(PROJECT, "wrangler.toml"), "utf8")) };
}

/** Writes the bundle atomically, because another start may read it at the same time. @param {string} text */
function keep(text) {
  mkdirSync(dirname(bundle), { recursive: true });
  const made = mkdtempSync(join(PROJECT, "dist/make-"));
  writeFileSync(join(made, basename(bundle)), text);
  renameSync(join(made, basename(bundle)), bundle);
  rmSync(made, { recursive: true });
}

// Code is no secret: a server that runs as another user reads what an operator built.
process.umask(0o022);
const text = isCurrent(bundle) ? readFileSync(bundle, "utf8") : await make();
if (directory !== undefined) writeFileSync(join(directory, basename(bundle)), text);
try {
  if (!isCurrent(bundle)) keep(text);
} catch (error) {
  // In a project that can't be written the next start builds again.
  if (directory === undefined) throw error;
}
