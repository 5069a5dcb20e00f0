import { inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { ObjectPage } from "../storage/object-pages.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import { treeAt } from "../token/find-tree.ts";
import { objectAt } from "./find-objects.ts";
import { isSavedClass } from "./object-keys.ts";
import type { Part, SavedPage } from "./part.ts";
import { listCustomIds, listLeases, listTokens, restoreDirectory } from "./restore-lists.ts";

/**
 * Writes the pages of a part into objects that hold nothing, and lists the trees among them: lists are not in a backup, they are made
 * again. Safe to repeat.
 */
export async function writePart(env: Env, { schemas, objects }: Part): Promise<Result<null>> {
  const listed: InventoryEntry[] = [];
  const refused: string[] = [];
  await inPool(objects, MAX_PARALLEL_CALLS, async (saved) => {
    const written = await writePage(env, saved, saved.schema === null ? [] : (schemas[saved.schema] ?? []));
    if (!written.ok) refused.push(`${saved.className} ${saved.name} (${written.error})`);
    else if (written.value) listed.push(written.value);
  });
  if (refused.length > 0) return refuse(`objects do not take their rows: ${refused.slice(0, 3).join(", ")}`);
  await listTokens(env, listed);
  await listCustomIds(env, objects);
  for (const saved of objects) await listLeases(env, saved);
  return ok(null);
}

/** Returns what is to be listed of a tree. */
async function writePage(
  env: Env,
  saved: SavedPage,
  schema: readonly string[],
): Promise<Result<InventoryEntry | null, PageRefusal>> {
  const { className, name, id, page, tables, isLast } = saved;
  if (!isSavedClass(className)) throw new Error("a part has an object of a class that no backup holds");
  const content: ObjectPage = { id, page, schema, tables, isLast };
  if (className === "TokenTree") return treeAt(env, name).restore(content);
  // Trees of earlier parts have written into it.
  if (className === "CustomIds") {
    await restoreDirectory(env, saved);
    return ok(null);
  }
  const written = await objectAt(env, saved).importPage(content);
  if (written.ok && isLast) await objectAt(env, saved).restart().catch(restarted);
  return written;
}

/** An object that restarts does not answer. */
function restarted(): null {
  return null;
}
