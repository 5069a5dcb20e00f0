import { inGroups, inPool, MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import { fromBase64 } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { accessorShardNumber } from "../listing/accessor-shard-number.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import type { PageValue } from "../storage/object-pages.ts";
import { storedJson } from "../storage/tables.ts";
import { routedIdText } from "../token/ids.ts";
import type { TokenRecord } from "../token/record.ts";
import { LIVE } from "../token/state.ts";
import { type CustomIdEntry, customIdsShard, customIdsShardNumber } from "../tree/custom-ids.ts";
import type { SavedPage } from "./part.ts";

/** Lists the trees of a part by their first tokens. */
export async function listTokens(env: Env, entries: readonly InventoryEntry[]): Promise<void> {
  const byShard = Map.groupBy(entries, ({ accessor }) => accessorShardNumber(accessor));
  await inPool([...byShard], MAX_PARALLEL_CALLS, ([shard, made]) =>
    accessorShard(env, shard).applyUpdates({ made, changed: [], sizes: [], started: [] }),
  );
}

/** Lists leases of secrets by their rows. One that was given up has an error. */
export async function listLeases(env: Env, saved: SavedPage): Promise<void> {
  if (saved.className !== "TokenTree") return;
  const leases = rowsOf(saved, "leases").map((row) => leaseOf(saved.id, row));
  for (const [shard, of] of Map.groupBy(leases, ({ tail }) => accessorShardNumber(tail))) {
    const givenUp = of.flatMap(({ error, ...lease }) => (error === null ? [] : [{ ...lease, error }]));
    await accessorShard(env, shard).restoreLeases(of, givenUp);
  }
}

/**
 * Enters the chosen ids of live tokens into the directory. The backup reads the directory after the trees: a token that was revoked in
 * between is live in the rows of its tree, and has no entry any more, or another token has its id. Of two live tokens with the same id
 * the later one has it: trees are restored in the order in which they were read.
 */
export async function listCustomIds(env: Env, objects: readonly SavedPage[]): Promise<void> {
  const trees = objects.filter(({ className }) => className === "TokenTree");
  const entries = trees.flatMap((saved) =>
    rowsOf(saved, "tokens").flatMap((row) => {
      const record = String(row.get("record"));
      if (row.get("state") !== LIVE || !record.includes('"customIdKey":"')) return [];
      const { customIdKey: key } = storedJson<Pick<TokenRecord, "customIdKey">>(record);
      return key === null ? [] : [{ key, treeId: saved.id, row: Number(row.get("row")) }];
    }),
  );
  await enterCustomIds(env, entries, true);
}

/** Enters what the directory of chosen ids had, which gives way to ids of live tokens of trees. */
export async function restoreDirectory(env: Env, saved: SavedPage): Promise<void> {
  const entries = rowsOf(saved, "custom_ids").map((row) => ({
    key: String(row.get("key")),
    treeId: String(row.get("tree_id")),
    row: Number(row.get("row")),
  }));
  await enterCustomIds(env, entries, false);
}

async function enterCustomIds(env: Env, entries: readonly CustomIdEntry[], replaces: boolean): Promise<void> {
  const byShard = Map.groupBy(entries, ({ key }) => customIdsShardNumber(key));
  await inGroups([...byShard], ([shard, of]) => customIdsShard(env, shard).restore(of, replaces));
}

type Row = ReadonlyMap<string, PageValue>;

function rowsOf({ tables }: SavedPage, name: string): Row[] {
  return tables.flatMap(({ table, columns, rows }) =>
    table === name ? rows.map((row) => new Map(columns.map((column, at) => [column, row[at] ?? null]))) : [],
  );
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
