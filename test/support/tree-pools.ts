import { evictDurableObject } from "cloudflare:test";
import type { AccessorShard } from "../../src/listing/accessor-shard.ts";
import { rowsOf } from "./rows.ts";
import { deleteRows } from "./storage-writer.ts";

/** Takes everything out of the pool of a shard, also of what it remembers. Its tables are made here when it was not used before. */
export async function emptyPool(shard: DurableObjectStub<AccessorShard>): Promise<void> {
  await shard.releaseTree("0".repeat(64));
  await shard.allocateTrees(1);
  for (const table of ["free_trees", "allocated_trees"]) await deleteRows(shard, table);
  await evictDurableObject(shard);
}

/** The trees that the pool of a shard has to give. */
export async function freeTrees(shard: DurableObjectStub): Promise<unknown[]> {
  return (await rowsOf(shard, "free_trees")).map(({ tree }) => tree);
}

/** What a shard stores of trees that it has allocated: a row for each call. */
export async function allocatedRows(shard: DurableObjectStub): Promise<string[]> {
  return (await rowsOf(shard, "allocated_trees")).map(({ trees }) => String(trees));
}
