// Makes the bundle of a program: `node scripts/bundled/make.js scripts/serve.ts`. Packages stay where they are.
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { ALWAYS_READ, bundleOf, isCurrent, noteOf, PROJECT } from "./kept-bundle.js";

const source = realpathSync(process.argv[2] ?? "");
const bundle = bundleOf(source);

/** Under its name once it is whole: another start may read it meanwhile. */
function make() {
  const built = buildSync({
    absWorkingDir: PROJECT,
    entryPoints: [source],
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "es2024",
    legalComments: "none",
    logLevel: "error",
    metafile: true,
    write: false,
  });
  const note = noteOf([...Object.keys(built.metafile.inputs), ...ALWAYS_READ].sort());
  mkdirSync(dirname(bundle), { recursive: true });
  const directory = mkdtempSync(join(dirname(bundle), "make-"));
  const made = join(directory, "bundle.js");
  writeFileSync(made, `${note}\n${built.outputFiles[0]?.text ?? ""}`);
  renameSync(made, bundle);
  rmSync(directory, { recursive: true });
}

// Code is no secret: a server that runs as another user reads what an operator built.
process.umask(0o022);
if (!isCurrent(bundle)) make();
