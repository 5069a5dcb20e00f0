import { inGroups, inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { fromBase64 } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { accessorShardNumber } from "../listing/accessor-shard-number.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { ObjectPage, PageValue } from "../storage/object-pages.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import { storedJson } from "../storage/tables.ts";
import { treeAt } from "../token/find-tree.ts";
import { routedIdText } from "../token/ids.ts";
import type { TokenRecord } from "../token/record.ts";
import { LIVE } from "../token/state.ts";
import { type CustomIdEntry, customIdsShard, customIdsShardNumber } from "../tree/custom-ids.ts";
import { objectAt } from "./find-objects.ts";
import { isSavedClass } from "./object-keys.ts";
import type { Part, SavedPage } from "./part.ts";

/**
 * Writes the pages of a part into empty objects. A backup has no lists of tokens and leases: they are rebuilt from the rows
 * of the trees. Safe to repeat.
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
  await listTrees(env, listed);
  const trees = objects.filter(({ className }) => className === "TokenTree");
  await writeCustomIds(env, trees.flatMap(customIdsInTree), true);
  for (const tree of trees) await listLeases(env, tree);
  return ok(null);
}

/** Writes a page. Returns the list entry of a tree that is complete, and null for other pages. */
async function writePage(
  env: Env,
  saved: SavedPage,
  schema: readonly string[],
): Promise<Result<InventoryEntry | null, PageRefusal>> {
  const { className, name, id, page, tables, isLast } = saved;
  if (!isSavedClass(className)) throw new Error("a part has an object of a class that no backup holds");
  const content: ObjectPage = { id, page, schema, tables, isLast };
  if (className === "TokenTree") return treeAt(env, name).restore(content);
  if (className === "CustomIds") {
    // The object may not be empty: earlier parts have entered custom ids of their trees. These take precedence.
    await writeCustomIds(env, customIdsInDirectory(saved), false);
    return ok(null);
  }
  const object = objectAt(env, saved);
  const written = await object.importPage(content);
  // An object that restarts does not answer.
  if (written.ok && isLast) await object.restart().catch(() => null);
  return written;
}

/** Lists trees by their first tokens. */
async function listTrees(env: Env, entries: readonly InventoryEntry[]): Promise<void> {
  const byShard = Map.groupBy(entries, ({ accessor }) => accessorShardNumber(accessor));
  await inPool([...byShard], MAX_PARALLEL_CALLS, ([shard, made]) =>
    accessorShard(env, shard).applyUpdates({ made, changed: [], sizes: [], started: [] }),
  );
}

/** Lists the leases of a tree. A lease with an error is one whose revocation was given up. */
async function listLeases(env: Env, tree: SavedPage): Promise<void> {
  const leases = rowsOf(tree, "leases").map((row) => leaseOf(tree.id, row));
  for (const [shard, of] of Map.groupBy(leases, ({ tail }) => accessorShardNumber(tail))) {
    const givenUp = of.flatMap(({ error, ...lease }) => (error === null ? [] : [{ ...lease, error }]));
    await accessorShard(env, shard).restoreLeases(of, givenUp);
  }
}

function leaseOf(treeId: string, row: Row) {
  const tail = row.get("tail");
  const bytes = typeof tail === "object" && tail !== null ? fromBase64(tail.b) : null;
  const error = row.get("error");
  return {
    tail: routedIdText(treeId, Number(row.get("row")), bytes ?? new Uint8Array()),
    path: String(row.get("path")),
    expiresAt: Number(row.get("expires_at")),
    error: typeof error === "string" ? error : null,
  };
}

/**
 * The custom ids of live tokens in a tree. The directory of custom ids is read after the trees, so it may be newer. For a
 * token that was revoked in between it has no entry, or the entry of another token. If two live tokens have the same id, the
 * later one gets it: trees are restored in the order in which they were read.
 */
function customIdsInTree(tree: SavedPage): CustomIdEntry[] {
  return rowsOf(tree, "tokens").flatMap((row) => {
    const record = String(row.get("record"));
    if (row.get("state") !== LIVE || !record.includes('"customIdKey":"')) return [];
    const { customIdKey: key } = storedJson<Pick<TokenRecord, "customIdKey">>(record);
    return key === null ? [] : [{ key, treeId: tree.id, row: Number(row.get("row")) }];
  });
}

function customIdsInDirectory(directory: SavedPage): CustomIdEntry[] {
  return rowsOf(directory, "custom_ids").map((row) => ({
    key: String(row.get("key")),
    treeId: String(row.get("tree_id")),
    row: Number(row.get("row")),
  }));
}

async function writeCustomIds(env: Env, entries: readonly CustomIdEntry[], replaces: boolean): Promise<void> {
  const byShard = Map.groupBy(entries, ({ key }) => customIdsShardNumber(key));
  await inGroups([...byShard], ([shard, of]) => customIdsShard(env, shard).restore(of, replaces));
}

type Row = ReadonlyMap<string, PageValue>;

function rowsOf({ tables }: SavedPage, name: string): Row[] {
  return tables.flatMap(({ table, columns, rows }) =>
    table === name ? rows.map((row) => new Map(columns.map((column, at) => [column, row[at] ?? null]))) : [],
  );
}
