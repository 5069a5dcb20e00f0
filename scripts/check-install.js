// Loaded before every script (package.json, `node --import`). Plain JavaScript: it runs under any Node, before anything is installed, and
// says what is missing. Without it the user would see ERR_UNKNOWN_FILE_EXTENSION ".ts".
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = 24;

const project = join(dirname(fileURLToPath(import.meta.url)), "..");

function problem() {
  if (!existsSync(join(project, "node_modules", "wrangler"))) {
    return `Grove's packages are not installed yet. Run this first, in ${project}:\n\n  npm install\n`;
  }
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    return (
      `This is Node ${process.versions.node}; Grove's scripts need Node ${OLDEST_NODE} or newer. On Linux npm install ` +
      "brings it: start them with npm run, or with node_modules/.bin/node. Elsewhere, install it.\n"
    );
  }
  return "";
}

const text = problem();
if (text !== "") {
  process.stderr.write(text);
  process.exit(1);
}
