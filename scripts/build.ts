import { join } from "node:path";
import { runNode } from "./local/wrangler.ts";

// Builds the Worker for `npm run serve` and bundles the long-running programs (bundled.js). A start builds them itself if it may write into
// the project, which a service should not.

const PROGRAMS = ["scripts/serve.ts", "scripts/gateway.ts", "src/index.ts"];

const project = join(import.meta.dirname, "..");
for (const program of PROGRAMS) {
  const made = await runNode([join(project, "scripts/bundled/make.js"), join(project, program)]);
  if (made.ok) continue;
  console.error(`build: ${made.error}`);
  process.exit(1);
}
console.error("build: the Worker is built");
