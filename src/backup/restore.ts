import { currentTime } from "../base/clock.ts";
import { inGroups, inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { err, invalid, ok, type Result, refuse } from "../base/result.ts";
import { equalBytes, fromBase64, toBase64 } from "../crypto/bytes.ts";
import { importKeys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { GIVEN_UP } from "../lease/store.ts";
import { accessorShard, accessorShardNumber } from "../listing/accessor-shards.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { ObjectPage, PageValue } from "../storage/object-pages.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import { storedJson } from "../storage/tables.ts";
import { loadInstallation, loadRestoring, refreshInstallation } from "../system/installation.ts";
import { openKeyRing } from "../system/open-key-ring.ts";
import { type RestoreWatermarks, systemOf } from "../system/system.ts";
import { LIVE } from "../token/end-record.ts";
import { routedIdText } from "../token/ids.ts";
import type { TokenRecord } from "../token/record.ts";
import { treeAt } from "../token/tree-stub.ts";
import { type CustomIdEntry, customIdsShard, customIdsShardNumber } from "../tree/custom-ids.ts";
import { decompress, MAX_PART_BYTES, MAX_PARTS, type Part, type SavedPage, sha256Of } from "./part-format.ts";
import { hasLostSystem, LOST_SYSTEM, objectAt } from "./saved-objects.ts";
import { proofOf, receiptOf, sealOfBackup, sealOfPart } from "./seals.ts";

export const NOT_EMPTY = invalid("a backup is restored into a deployment that was never initialized, and this one was");
const NOT_RESTORING = invalid("no restore is under way here");
const NOT_WHOLE = invalid("not all parts of the backup were restored");
const FOREIGN_RING = invalid(
  "key_ring can't be opened: GROVE_SEAL_KEY (or GROVE_SEAL_KEY_PREVIOUS) of this deployment must be the key that wrapped it",
);
const NOT_SEALED = invalid("the seal does not hold: this is not what the server of the backup has made");

/** Identifies a backup. The seal covers the other fields. */
interface SealedRun {
  readonly run: string;
  readonly parts: number;
  readonly seal: string;
}

/**
 * Begins to restore into a new deployment with the same seal key, which answers nothing else until `finishRestore`.
 * Safe to repeat.
 */
export async function beginRestore(env: Env, { run, parts, seal }: SealedRun, keyRing: string): Promise<Result<null>> {
  const opened = await openKeyRing(env, keyRing);
  if (!opened.ok) return err(FOREIGN_RING);
  const keys = await importKeys(opened.value.ring);
  if (!isEqual(seal, await sealOfBackup(keys, run, parts))) return err(NOT_SEALED);
  const loaded = await loadInstallation(env);
  if (!loaded.ok && loaded.error.code === "uninitialized" && (await hasLostSystem(env))) return err(LOST_SYSTEM);
  if (!(await systemOf(env).beginRestore(run, keyRing))) return err(NOT_EMPTY);
  await refreshInstallation(env);
  return ok(null);
}

/** A part as the backup has it. The seal covers the hash and the number. */
interface SealedPart {
  readonly number: number;
  /** Of the text, in hex. */
  readonly sha256: string;
  readonly seal: string;
  /** The compressed text in base64. */
  readonly content: string;
}

/**
 * Restores a part. Nothing is decompressed before the seal was checked, and nothing is parsed before the hash was. Safe
 * to repeat. Returns the receipt.
 */
export async function restorePart(env: Env, { number, sha256, seal, content }: SealedPart): Promise<Result<string>> {
  const restoring = await loadRestoring(env);
  if (!restoring.ok) return err(NOT_RESTORING);
  const { restoring: run, keys } = restoring.value;
  if (!isEqual(seal, await sealOfPart(keys, run, number, sha256))) return err(NOT_SEALED);
  const bytes = fromBase64(content);
  if (!bytes) return refuse("content must be base64");
  const text = decompress(bytes, MAX_PART_BYTES);
  if (!text.ok) return refuse(`the part can't be read: ${text.error}`);
  if ((await sha256Of(text.value)) !== sha256) return err(NOT_SEALED);
  // The seal shows that a server of this installation wrote the text.
  const part: Part = JSON.parse(text.value);
  const written = await writePart(env, part);
  if (!written.ok) return written;
  // The rows of the System object tell which shards list the tokens of later parts.
  await refreshInstallation(env);
  return ok(toBase64(await receiptOf(keys, run, number)));
}

/** Opens the installation after all parts were restored. Safe to repeat. @param proof see `proofOf`. */
export async function finishRestore(
  env: Env,
  { run, parts, seal }: SealedRun,
  proof: string,
  ends: RestoreWatermarks,
): Promise<Result<null>> {
  // The installation is already open after an earlier attempt whose answer was lost.
  const open = await loadInstallation(env);
  const restored = open.ok ? open : await loadRestoring(env);
  if (!restored.ok) return err(NOT_RESTORING);
  const { keys, restoring } = restored.value;
  const isBackup = isEqual(seal, await sealOfBackup(keys, run, parts));
  if (!isBackup || parts > MAX_PARTS) return err(NOT_WHOLE);
  // The proof costs a hash for each part, so it is not computed for a run that is not being restored.
  if (restoring !== null && (restoring !== run || !isEqual(proof, await proofOf(keys, run, parts))))
    return err(NOT_WHOLE);
  if (!(await systemOf(env).finishRestore(run, ends, currentTime()))) return err(NOT_RESTORING);
  const loaded = await refreshInstallation(env);
  return loaded.ok ? ok(null) : loaded;
}

function isEqual(sent: string, expected: Uint8Array): boolean {
  const bytes = fromBase64(sent);
  return bytes !== null && equalBytes(bytes, expected);
}

/** Writes pages into empty objects. The lists, which no backup has, are rebuilt from the trees. Safe to repeat. */
async function writePart(env: Env, { schemas, objects }: Part): Promise<Result<null>> {
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
  const content: ObjectPage = { id, page, schema, tables, isLast };
  if (className === "TokenTree") return treeAt(env, name).restore(content);
  if (className === "CustomIds") {
    // The object may not be empty: earlier parts have entered custom ids of their trees. These take precedence.
    await writeCustomIds(env, customIdsInDirectory(saved), false);
    return ok(null);
  }
  const object = objectAt(env, saved);
  const written = await object.importPage(content);
  // The call rejects when the object restarts.
  if (written.ok && isLast) await object.restart().catch(() => null);
  return written;
}

async function listTrees(env: Env, entries: readonly InventoryEntry[]): Promise<void> {
  const byShard = Map.groupBy(entries, ({ accessor }) => accessorShardNumber(accessor));
  await inPool([...byShard], MAX_PARALLEL_CALLS, ([shard, made]) =>
    accessorShard(env, shard).applyUpdates({ made, changed: [], sizes: [], started: [] }),
  );
}

/** Lists the leases of a tree. One that has failed and is tried again by its tree has an error, and is not given up. */
async function listLeases(env: Env, tree: SavedPage): Promise<void> {
  const leases = rowsOf(tree, "leases").map((row) => leaseOf(tree.id, row));
  for (const [shard, of] of Map.groupBy(leases, ({ tail }) => accessorShardNumber(tail))) {
    const givenUp = of.flatMap(({ isGivenUp, ...lease }) => (isGivenUp ? [lease] : []));
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
    error: typeof error === "string" ? error : "",
    isGivenUp: row.get("state") === GIVEN_UP,
  };
}

/**
 * The custom ids of live tokens in a tree. The directory of custom ids is read after the trees, so it may be newer. For
 * a token that was revoked in between it has no entry, or the entry of another token. If two live tokens have the same
 * id, the later one gets it: trees are restored in the order in which they were read.
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
