import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { PROJECT } from "./server.ts";

/** Before all tests: what their servers run is built, so that those that start at the same time don't each build it. */
export default function buildOnce(): void {
  execFileSync(process.execPath, [join(PROJECT, "scripts/build.ts")], { cwd: PROJECT, stdio: "pipe" });
}
