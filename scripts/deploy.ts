import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { sourceCommit, sourceVersion } from "./local/version.ts";
import { PROJECT } from "./local/worker-definition.ts";

// `wrangler deploy` with the commit, which `sys/health` shows. Everything on the command line goes to Wrangler.

const commit = sourceCommit();
console.error(`deploy: Grove ${sourceVersion(commit)}`);
const wrangler = join(createRequire(import.meta.url).resolve("wrangler/package.json"), "../bin/wrangler.js");
const given = process.argv.slice(2);
const words = ["deploy"];
if (commit !== "") words.push("--var", `GROVE_COMMIT:${commit}`);
// Says that production is meant, which Wrangler asks for where there are other environments.
if (!given.some((word) => /^(-e|--env)(=|$)/.test(word))) words.push("--env=");
words.push(...given);
const { status } = spawnSync(process.execPath, [wrangler, ...words], { cwd: PROJECT, stdio: "inherit" });
process.exit(status ?? 1);
