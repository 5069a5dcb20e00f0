import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { PROJECT } from "../local/worker-definition.ts";
import { runNode } from "../local/wrangler.ts";
import type { Definition } from "./worker-model.ts";

/** The module of the built Worker. Its first line has the Worker's definition. */
export const MODULE = "index.js";

const KEPT = join(PROJECT, "dist/worker", MODULE);
const MAKE = join(PROJECT, "scripts/bundled/make.js");

const BUILD_ADVICE = `If this user may not write in ${PROJECT}, run npm run build there as its owner first`;

/** Values of a definition that wrangler.toml may leave out. */
const UNSAID = { compatibility_flags: [], migrations: [], vars: {}, durable_objects: { bindings: [] } };

/**
 * Puts the built Worker into an emptied directory and returns its definition. The Worker is built again when an input has changed, in a
 * process of its own, whose end frees the memory. A package has no sources: its Worker is always current. The error is for the operator.
 */
export async function placeWorker(directory: string): Promise<Result<Definition, string>> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  if (existsSync(MAKE)) {
    const made = await runNode([MAKE, join(PROJECT, "src/index.ts"), directory]);
    if (!made.ok) return err(`the Worker cannot be built:\n${made.error}\n${BUILD_ADVICE}`);
  } else copyFileSync(KEPT, join(directory, MODULE));
  const [note = ""] = readFileSync(join(directory, MODULE), "utf8").split("\n", 1);
  const { definition }: { readonly definition: Definition } = JSON.parse(note.slice("// ".length));
  return ok({ ...UNSAID, ...definition });
}
