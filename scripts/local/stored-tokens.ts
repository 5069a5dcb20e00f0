import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../../src/base/result.ts";
import { helpAsCalled } from "./command-line.ts";
import type { DataDirectory } from "./data-directory.ts";

/** The file of the secret that the names of the directories of databases end with. */
export const INSTALLATION_ID = "installation-id";

const TREES = "TokenTree-";
/** An object's database is named after the object's id. */
const TREE = /^[0-9a-f]{64}\.sqlite$/;

/** The directories with databases of trees, of any installation. */
function treeDirectories(objects: string): string[] {
  const directories = readdirSync(objects).filter((name) => name.startsWith(TREES));
  return directories.filter((name) => hasTrees(join(objects, name)));
}

/** Whether a directory has databases of trees. A missing one has none. */
function hasTrees(directory: string): boolean {
  return existsSync(directory) && readdirSync(directory).some((file) => TREE.test(file));
}

/** The directory in which Wrangler keeps the databases of trees, below that of its state. */
const TREES_OF_WRANGLER = "v3/do/grove-TokenTree";

/** Whether tokens are in the state of Wrangler, before it starts: as `hasStoredTokens`, for `npm run dev`. */
export function hasDevTokens(state: string): boolean {
  return hasTrees(join(state, TREES_OF_WRANGLER));
}

/**
 * Whether tokens are in a data directory, before its server starts. Another initialization there would make a new
 * installation and lose them. Where the installation's id is gone, the databases can't be found: that is an error, for
 * the operator.
 */
export function hasStoredTokens(data: DataDirectory): Result<boolean, string> {
  const objects = data.file("objects");
  const [first] = treeDirectories(objects);
  if (first === undefined || data.has(INSTALLATION_ID)) return ok(first !== undefined);
  const runbook = helpAsCalled("docs/runbook.md, Installation lost");
  return err(
    `${objects} has tokens, and ${data.file(INSTALLATION_ID)} is gone: bring it back from a backup, or write into it what follows ${TREES} in the name of ${join(objects, first)} (${runbook}); to begin anew, use an empty data directory`,
  );
}
