// Runs a program as one file of plain JavaScript: `node scripts/bundled.js scripts/serve.ts FLAGS` is `node scripts/serve.ts FLAGS`.
// Node's reader of TypeScript would take 40 MiB for as long as a server runs, and most of the time of a short command. So this file is no
// TypeScript either.
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleOf, isCurrent } from "./bundled/kept-bundle.js";

const [, , name = ""] = process.argv;
const source = realpathSync(name);
const bundle = bundleOf(source);
if (!isCurrent(bundle)) {
  // In a process of its own, whose end frees the memory of the build.
  spawnSync(process.execPath, [join(import.meta.dirname, "bundled/make.js"), source], { stdio: "ignore" });
}
// The program sees its own path and flags, not the path of this file.
process.argv.splice(1, 2, source);
// In a project that can't be written the source runs instead, with more memory.
await import(pathToFileURL(isCurrent(bundle) ? bundle : source).href);
