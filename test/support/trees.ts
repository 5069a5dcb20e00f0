import { runInDurableObject } from "cloudflare:test";
import { concat } from "../../src/crypto/bytes.ts";
import { accessorShard, shardNumbers } from "../../src/listing/accessor-shards.ts";
import { SingleTokenWalk } from "../../src/listing/trees/single-token-walk.ts";
import { publishRecent, UpdateQueue } from "../../src/listing/updates/publish.ts";
import { loadInstallation } from "../../src/system/installation.ts";
import { NO_WATERMARKS } from "../../src/system/watermarks.ts";
import { REVOKED } from "../../src/token/end-record.ts";
import { type NewTokenIds, newTokenIds, readServiceToken } from "../../src/token/ids.ts";
import type { TokenRecord } from "../../src/token/record.ts";
import { treeAt } from "../../src/token/tree-stub.ts";
import { sealToken } from "../../src/tree/token-rows.ts";
import { TokenTree } from "../../src/tree/token-tree.ts";
import { TreeStore } from "../../src/tree/tree-store.ts";
import { TreeUpdates } from "../../src/tree/updates/tree-updates.ts";
import { atCalls, holdAlarmsOf, ringAlarm } from "./calls.ts";
import { crash } from "./objects.ts";
import { rowsOf } from "./rows.ts";
import { bindings } from "./service.ts";
import { changeRows, deleteRows } from "./storage-writer.ts";

/** Where a token lives. */
export async function locate(
  token: string,
): Promise<{ stub: DurableObjectStub<TokenTree>; treeId: string; row: number }> {
  const keys = await keysOfInstallation();
  const credential = await readServiceToken(keys, token);
  const stub = credential && treeAt(bindings, credential.treeId);
  if (!credential || !stub) throw new Error("not a service token of this installation");
  return { stub, treeId: credential.treeId, row: credential.row };
}

/** No row of this file was generated for this ms or a later one. */
let freeFrom = 0;

/**
 * Writes `count` copies of the token `parent` below it, straight into the tree: all direct children (`wide`), or each the
 * child of the one before (`chain`). Returns the texts of the first, a middle and the last one.
 */
export async function growTree(parent: string, count: number, shape: "wide" | "chain"): Promise<string[]> {
  const keys = await keysOfInstallation();
  // The timer of pending updates ends with the tree.
  await publishRecent(bindings, Date.now());
  const { stub, treeId, row } = await locate(parent);
  const all: NewTokenIds[] = [];
  // One ms apart, also from those of calls before, so that every row number is its own.
  const start = Math.max(Date.now() + 1, freeFrom);
  freeFrom = start + count;
  for (let i = 0; i < count; i++) all.push(await newTokenIds(keys, treeId, start + i));
  await runInDurableObject(stub, (_, state) => {
    const store = new TreeStore(state.storage.sql, treeId, {
      rowKeys: () => keys.rows,
      watermarks: () => NO_WATERMARKS,
    });
    const like = store.find(row);
    if (!like) throw new Error("the parent is not in its tree");
    const { record } = like.fixed;
    let above = row;
    for (const ids of all) {
      store.insert({ type: "service", record, expiresAt: like.expiresAt, orphan: false }, ids, above);
      if (shape === "chain") above = ids.row;
    }
  });
  // The object did not see this happen.
  await restartTree(stub);
  return [all[0], all[Math.floor(count / 2)], all[count - 1]].map((ids) => ids?.token ?? "");
}

/** Gives a token another record, as if it had been made with it. Stubs of its tree are to be made anew afterwards. */
export async function rewriteRecord(token: string, change: (record: TokenRecord) => TokenRecord): Promise<void> {
  await rewriteRecordAt(await locate(token), change);
}

/** The same for the token in a row. */
export async function rewriteRecordAt(
  { stub, treeId, row }: Awaited<ReturnType<typeof locate>>,
  change: (record: TokenRecord) => TokenRecord,
): Promise<void> {
  const keys = await keysOfInstallation();
  await publishRecent(bindings, Date.now());
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    const stored = sql
      .exec<{ verifier: ArrayBuffer; accessor: ArrayBuffer; record: string }>("SELECT * FROM tokens WHERE row = ?", row)
      .one();
    const verifier = new Uint8Array(stored.verifier.slice(0, 24));
    const recordJson = JSON.stringify(change(JSON.parse(stored.record) as TokenRecord));
    const token = { row, verifier, accessorTail: new Uint8Array(stored.accessor), recordJson };
    const sealed = concat(verifier, sealToken(keys.rows, treeId, token));
    sql.exec("UPDATE tokens SET record = ?, verifier = ? WHERE row = ?", recordJson, sealed, row);
  });
  // The object may have read it, for an update of the lists.
  await restartTree(stub);
}

/** The tree has lost the row of a token that is listed. */
export async function loseToken(token: string): Promise<void> {
  await publishRecent(bindings, Date.now());
  const { stub, row } = await locate(token);
  await deleteRows(stub, "tokens", { row });
}

/** A token is dead, and its tree does nothing about it: it is revoked, or has ended at `end` (ms). */
export async function endUnnoticed(token: string, end: number | "revoked"): Promise<void> {
  await publishRecent(bindings, Date.now());
  const { stub, row } = await locate(token);
  await changeRows(stub, "tokens", end === "revoked" ? { state: REVOKED } : { expires_at: end }, { row });
}

/** The rows of a tree as they are stored. */
export async function tokenRows(stub: DurableObjectStub<TokenTree>) {
  const rows = await rowsOf(stub, "tokens");
  return rows.map(({ row, parent, accessor, ...rest }) => ({
    row: Number(row),
    parent: parent === null ? null : Number(parent),
    accessor: accessor instanceof Uint8Array ? accessor : new Uint8Array(),
    ...rest,
  }));
}

/** Rows in the table of tokens; 0 for a tree that has been freed. */
export async function countRows(stub: DurableObjectStub<TokenTree>): Promise<number> {
  return runInDurableObject(stub, (_, { storage: { sql } }) =>
    isCreated(sql) ? sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM tokens").one().n : 0,
  );
}

/** False for a tree that has been freed. */
export function isCreated(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'tokens'").toArray().length > 0;
}

/**
 * Ends the running instance of a tree, as a crash does. The eviction of the test runner waits up to ten seconds for the timers
 * after which trees update the lists.
 *
 * @returns a new stub: earlier stubs are broken.
 */
export async function restartTree(stub: DurableObjectStub<TokenTree>): Promise<DurableObjectStub<TokenTree>> {
  await crash(stub);
  return bindings.TOKEN_TREE.get(stub.id);
}

/**
 * Ends the running instance of a tree without pending updates, as the platform does with one that gets no request for a
 * while. @returns a new stub: earlier stubs are broken.
 */
export async function evictTree(stub: DurableObjectStub<TokenTree>): Promise<DurableObjectStub<TokenTree>> {
  await publishRecent(bindings, Date.now());
  return restartTree(stub);
}

/** Keeps trees from sweeping by themselves until the test ends, so that it decides when. `beforeEach(holdSweeps)` */
export function holdSweeps(): void {
  holdAlarmsOf(TokenTree);
  atCalls(SingleTokenWalk, "turn", ({ proceed }) =>
    endingSingleTokens ? proceed() : Promise.resolve({ gone: [], free: [] }),
  );
}

/** True while a test has the shards ask for tokens that have ended. */
let endingSingleTokens = false;

/** Does what the alarms of all shards do about tokens that have ended, in trees of one token. `beforeEach(holdSweeps)` */
export async function endSingleTokens(): Promise<void> {
  endingSingleTokens = true;
  try {
    for (const number of shardNumbers()) await ringAlarm(accessorShard(bindings, number));
  } finally {
    endingSingleTokens = false;
  }
}

/** Trees do not update the inventory until the test ends, so that the cost of a request can be counted. `beforeEach(holdInventory)` */
export function holdInventory(): void {
  atCalls(TreeUpdates, "look", async () => {});
}

/**
 * The isolate sends no updates of trees while `work` runs. Those of earlier requests are sent by a timer, up to ten seconds
 * after them: on a slow machine in the middle of a measurement.
 */
export async function withoutUpdates<T>(work: () => Promise<T>): Promise<T> {
  const held = atCalls(UpdateQueue, "send", async () => {});
  try {
    return await work();
  } finally {
    held.end();
  }
}

/** Does what one alarm of the tree would do. */
export async function runAlarm(stub: DurableObjectStub<TokenTree>): Promise<void> {
  await ringAlarm(stub);
}

/** Does what the alarms of the tree would do until nothing dead is left. */
export async function sweep(stub: DurableObjectStub<TokenTree>): Promise<void> {
  for (let round = 0; round < 100; round++) {
    await runAlarm(stub);
    const dead = await runInDurableObject(stub, (_, { storage: { sql } }) =>
      isCreated(sql)
        ? sql.exec("SELECT 1 FROM tokens WHERE state <> 0 OR expires_at <= ? LIMIT 1", Date.now()).toArray().length
        : 0,
    );
    if (dead === 0) return;
  }
  throw new Error("the sweep does not end");
}

/** The keys of the installation of this test file. */
export async function keysOfInstallation() {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error("the service is not initialised");
  return loaded.value.keys;
}
