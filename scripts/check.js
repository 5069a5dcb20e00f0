// Runs the parts of `npm run check` in parallel and prints the output of those that fail. Plain JavaScript: npm may start any Node.
import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";

const CHECKS = [
  "tsc --noEmit",
  "tsc --noEmit -p console",
  "biome check .",
  "npm run -s check:docstrings",
  "npm run -s check:layers",
  "npm run -s check:names",
];

// Makes a module that the types of the Worker need.
execFileSync(process.execPath, ["scripts/build-console.js"], { stdio: "inherit" });

/** @param {string} command */
async function check(command) {
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const [output, code] = await Promise.all([text(child.stdout), ended]);
  if (code === 0) return;
  process.stdout.write(`${command}\n${output}`);
  process.exitCode = 1;
}

await Promise.all(CHECKS.map(check));
