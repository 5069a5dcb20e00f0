import { join } from "node:path";
import { readWords, runCommand } from "./local/command-line.ts";
import { runNode } from "./local/wrangler.ts";

const HELP = `Usage: npm run build

Builds the Worker for npm run serve, and bundles the server, the gateway and the operators' programs. A start builds them
itself if it may write into the project, which a service should not.

Example:
  npm run build
`;

const SCRIPTS = ["serve", "gateway", "grove", "backup", "upgrade"];
const PROGRAMS = [...SCRIPTS.map((name) => `scripts/${name}.ts`), "src/index.ts"];

const say = (line: string): void => console.error(`build: ${line}`);

async function build(): Promise<number> {
  const project = join(import.meta.dirname, "..");
  for (const program of PROGRAMS) {
    const made = await runNode([join(project, "scripts/bundled/make.js"), join(project, program)]);
    if (made.ok) continue;
    say(made.error);
    return 1;
  }
  say("the Worker is built");
  return 0;
}

process.exitCode = await runCommand(readWords(process.argv.slice(2), {}), HELP, say, build);
