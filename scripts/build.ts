import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBuild } from "./serve/kept-build.ts";

// Builds the Worker for `npm run serve`, which does so itself where it may write into the project. A service should not.

const directory = mkdtempSync(join(tmpdir(), "grove-worker-"));
const build = await openBuild(directory);
rmSync(directory, { recursive: true, force: true });
console.error(build.ok ? "build: the Worker is built" : `build: ${build.error}`);
process.exit(build.ok ? 0 : 1);
