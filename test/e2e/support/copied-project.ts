import { cpSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT } from "./server.ts";

const COPIED = [
  "console",
  "examples/start.hcl",
  "gateway",
  "package.json",
  "scripts",
  "src",
  "tsconfig.json",
  "wrangler.toml",
];

/**
 * Copies the project to where a test may change its sources and what is built of them: other tests run servers from the project
 * at the same time. Returns the directory, which the test removes.
 */
export function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), "grove-copy-"));
  for (const name of COPIED) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
  return copy;
}
