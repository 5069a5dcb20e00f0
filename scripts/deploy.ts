import { spawnSync } from "node:child_process";
import { sourceCommit, sourceVersion } from "./local/version.ts";
import { PROJECT } from "./local/worker-definition.ts";
import { wranglerProgram } from "./local/wrangler.ts";

// `wrangler deploy` with the commit, which `sys/health` shows. Everything on the command line goes to Wrangler.

const commit = sourceCommit();
console.error(`deploy: Grove ${sourceVersion(commit)}`);
const given = process.argv.slice(2);
const words = ["deploy"];
if (commit !== "") words.push("--var", `GROVE_COMMIT:${commit}`);
// Names production: Wrangler asks for an environment when there are several.
if (!given.some((word) => /^(-e|--env)(=|$)/.test(word))) words.push("--env=");
words.push(...given);
const { status } = spawnSync(process.execPath, [wranglerProgram(), ...words], { cwd: PROJECT, stdio: "inherit" });
process.exit(status ?? 1);
