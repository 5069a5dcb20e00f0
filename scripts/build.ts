import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBuild } from "./serve/kept-build.ts";

// Builds the Worker for `npm run serve`, and the programs that serve for a long time as plain JavaScript (bundled.js). They do so
// themselves where they may write into the project. A service should not.

const PROGRAMS = ["serve.ts", "gateway.ts"];

const directory = mkdtempSync(join(tmpdir(), "grove-worker-"));
const build = await openBuild(directory);
rmSync(directory, { recursive: true, force: true });
for (const program of build.ok ? PROGRAMS : []) {
  execFileSync(process.execPath, [join(import.meta.dirname, "bundled/make.js"), join(import.meta.dirname, program)]);
}
console.error(build.ok ? "build: the Worker is built" : `build: ${build.error}`);
process.exit(build.ok ? 0 : 1);
