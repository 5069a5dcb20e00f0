// Runs a program as one file of plain JavaScript: `node scripts/bundled.js scripts/serve.ts FLAGS` is `node scripts/serve.ts FLAGS`. What
// Node reads TypeScript with stays in memory for as long as the process runs: 40 MiB. So this file must not be TypeScript either.
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleOf, isCurrent } from "./bundled/kept-bundle.js";

const [, , name = ""] = process.argv;
const source = realpathSync(name);
const bundle = bundleOf(source);
if (!isCurrent(bundle)) {
  // In a process of its own, which takes its memory with it.
  spawnSync(process.execPath, [join(import.meta.dirname, "bundled/make.js"), source], { stdio: "ignore" });
}
// As for the program itself: without the words that name this file.
process.argv.splice(1, 2, source);
// Where the project can't be written the source does the same, with more memory.
await import(pathToFileURL(isCurrent(bundle) ? bundle : source).href);
