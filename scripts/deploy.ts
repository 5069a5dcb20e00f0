import { sourceCommit, sourceVersion } from "./local/version.ts";
import { PROJECT } from "./local/worker-definition.ts";
import { runDeploy, showsDeployHelp } from "./local/wrangler.ts";

// `wrangler deploy` with the commit, which `sys/health` shows. Wrangler gets the whole command line.

if (showsDeployHelp()) process.exit(0);
const commit = sourceCommit();
console.error(`deploy: Grove ${sourceVersion(commit)}`);
process.exit(runDeploy(commit === "" ? [] : ["--var", `GROVE_COMMIT:${commit}`], PROJECT));
