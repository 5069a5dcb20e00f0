import { currentTime } from "../../base/clock.ts";
import { newTreeId } from "../../token/find-tree.ts";
import { accessorShard } from "../accessor-shard.ts";
import { generationAt } from "../accessor-shard-number.ts";
import type { ListingEnv } from "../env.ts";
import { noteAllocated, shardWithFreed } from "./tree-pool.ts";

/** An id for a new tree, and the shard that handed it out; null: none did. */
export interface AllocatedTree {
  readonly treeId: string;
  readonly allocatedBy: number | null;
}

/** Ids that one call asks for: so many that they last for a while, and no more than will be used. */
const FEWEST = 4;
const MOST = 64;
/** Ids are used for so long after they were allocated (ms); some time later the shard asks their trees. */
const GOOD_FOR_MS = 30_000;
/** While a request asks for ids, others ask for one each (ms). */
const ASKING_MS = 1000;

/** Ids that this isolate has not used yet, with the time of their allocation (ms). */
let stock: (AllocatedTree & { readonly at: number })[] = [];
let last = { count: FEWEST, at: 0 };
let askingSince = 0;
let turn = Math.floor(Math.random() * 2 ** 16);

/** An id for a tree that there never was, and that no shard knows. */
export function unpooledTree(env: ListingEnv): AllocatedTree {
  return { treeId: newTreeId(env), allocatedBy: null };
}

/**
 * An id for a new tree. Usually one that this isolate has; a shard hands out many at once and remembers them, so that a tree of
 * which nothing is published is not lost. While the shard does not answer it is an id that no shard knows, and the tree looks after itself.
 */
export async function allocateTree(env: ListingEnv): Promise<AllocatedTree> {
  const now = currentTime();
  const isGood = (at: number) => at > now - GOOD_FOR_MS && at <= now;
  stock = stock.filter(({ at }) => isGood(at));
  const known = stock.pop();
  if (known) return known;
  const { first: firstShard, shards } = generationAt(now);
  const allocatedBy = shardWithFreed() ?? firstShard + (turn % shards);
  turn++;
  const isAlone = askingSince < now - ASKING_MS || askingSince > now;
  const next = isGood(last.at) ? Math.min(MOST, last.count * 2) : FEWEST;
  const count = isAlone ? next : 1;
  noteAllocated(allocatedBy, count);
  askingSince = now;
  try {
    const [first, ...rest] = await accessorShard(env, allocatedBy).allocateTrees(count);
    if (first === undefined) throw new Error("a shard hands out no ids");
    stock.push(...rest.map((treeId) => ({ treeId, allocatedBy, at: now })));
    if (isAlone) last = { count, at: now };
    return { treeId: first, allocatedBy };
  } catch (error) {
    console.error(JSON.stringify({ type: "allocation of trees", error: String(error) }));
    return unpooledTree(env);
  } finally {
    if (askingSince === now) askingSince = 0;
  }
}
