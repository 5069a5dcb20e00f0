import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { concat } from "../../../src/crypto/bytes.ts";
import { newTokenIds, readServiceToken } from "../../../src/token/ids.ts";
import { sealToken } from "../../../src/tree/tree-store.ts";
import type { GroveBuild } from "../servers/grove.ts";
import { seedAccessors } from "./accessors.ts";
import { databasePath, keysOf, newObjectId } from "./installation.ts";

/**
 * Makes `count` trees of one token each, all like one that the API made: copies of its file with the token's ids
 * replaced. The server must be stopped.
 *
 * @param like a token without a parent and its accessor.
 * @returns the tokens.
 */
export async function seedTrees(
  build: GroveBuild,
  directory: string,
  like: { readonly token: string; readonly accessor: string },
  count: number,
): Promise<string[]> {
  const keys = await keysOf(build, directory);
  const model = await readServiceToken(keys, like.token);
  if (!model) throw new Error("the model is not a token of this installation");
  const file = wholeFile(databasePath(build, directory, "TokenTree", model.treeId));
  const tokens: string[] = [];
  const accessors: string[] = [];
  for (let number = 0; number < count; number++) {
    const treeId = newObjectId(build, directory, "TokenTree");
    const ids = await newTokenIds(keys, treeId, Date.now());
    const path = databasePath(build, directory, "TokenTree", treeId);
    writeFileSync(path, file, { mode: 0o600 });
    const database = new DatabaseSync(path);
    database.exec("PRAGMA synchronous = OFF");
    const stored = database.prepare("SELECT record FROM tokens WHERE row = ?").get(model.row);
    const seal = sealToken(keys.rows, treeId, { ...ids, recordJson: String(stored?.record) });
    database
      .prepare("UPDATE tokens SET row = ?, verifier = ?, accessor = ? WHERE row = ?")
      .run(ids.row, concat(ids.verifier, seal), ids.accessorTail, model.row);
    database.close();
    tokens.push(ids.token);
    accessors.push(ids.accessor);
  }
  seedAccessors(build, directory, like.accessor, accessors);
  return tokens;
}

/** The bytes of a database with what is still in its log. */
function wholeFile(path: string): Buffer {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return readFileSync(path);
}
