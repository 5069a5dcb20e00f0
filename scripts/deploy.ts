import { misreadSettings } from "../src/base/misread-settings.ts";
import { sourceCommit, sourceVersion } from "./local/source-version.ts";
import { PROJECT, readVariables } from "./local/worker-definition.ts";
import { runDeploy, showsDeployHelp } from "./local/wrangler.ts";

// `wrangler deploy` with the commit, which `sys/health` shows. Wrangler gets the whole command line.

if (showsDeployHelp()) process.exit(0);
const commit = sourceCommit();
console.error(`deploy: Grove ${sourceVersion(commit)}`);
const variables = readVariables();
for (const line of variables.ok ? misreadSettings(variables.value) : [variables.error])
  console.error(`deploy: ${line}`);
process.exit(runDeploy(commit === "" ? [] : ["--var", `GROVE_COMMIT:${commit}`], PROJECT));
