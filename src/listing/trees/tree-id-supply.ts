import { currentTime, type Ms } from "../../base/clock.ts";
import { newTreeId } from "../../token/tree-stub.ts";
import { accessorShard, generationAt } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";

/**
 * Number of freed trees that are not allocated again, by shard. The shard that received one last is at the end. Trees
 * are used again only where one process serves everything: there the shards and their callers share one isolate. This
 * is a hint: the storage of a shard decides.
 */
const freed = new Map<number, number>();

/** Notes that a shard has received the id of a freed tree. */
export function noteFreed(shard: number): void {
  const before = freed.get(shard) ?? 0;
  freed.delete(shard);
  freed.set(shard, before + 1);
}

/** An id for a new tree, and the number of the shard that has it in its ledger; null: none has. */
interface AllocatedTree {
  readonly treeId: string;
  readonly ledger: number | null;
}

/** Fewest and most ids of one call. The number doubles while ids are used up quickly, so that few are left unused. */
const FEWEST = 4;
const MOST = 64;
/** Time after its allocation in which an id may be used. Some time later the shard calls the tree. */
const GOOD_FOR_MS = 30_000;
/** While a request fetches several ids, others fetch one each, for at most this time: the request may be lost. */
const ASKING_MS = 1000;

/** Ids that this isolate has not used yet, with the time of their allocation. */
let stock: (AllocatedTree & { readonly at: Ms })[] = [];
let last = { count: FEWEST, at: 0 };
let askingSince = 0;
let turn = Math.floor(Math.random() * 2 ** 16);

/** Generates an id for a new tree. No shard knows it. */
export function unpooledTree(env: ListingEnv): AllocatedTree {
  return { treeId: newTreeId(env), ledger: null };
}

/**
 * Returns an id for a new tree, usually one that this isolate has in stock. A shard allocates many ids at once and
 * records them, so that it finds a tree whose first token was never published. While the shard does not answer, the id
 * is unknown to all shards, and the tree itself delivers the update.
 */
export async function allocateTree(env: ListingEnv): Promise<AllocatedTree> {
  const now = currentTime();
  const isGood = (at: Ms) => at > now - GOOD_FOR_MS && at <= now;
  stock = stock.filter(({ at }) => isGood(at));
  const known = stock.pop();
  if (known) return known;
  const { first: firstShard, shards } = generationAt(now);
  const ledger = [...freed.keys()].at(-1) ?? firstShard + (turn % shards);
  turn++;
  const isAlone = askingSince < now - ASKING_MS || askingSince > now;
  const next = isGood(last.at) ? Math.min(MOST, last.count * 2) : FEWEST;
  const count = isAlone ? next : 1;
  const left = (freed.get(ledger) ?? 0) - count;
  if (left > 0) freed.set(ledger, left);
  else freed.delete(ledger);
  askingSince = now;
  try {
    const [first, ...rest] = await accessorShard(env, ledger).allocateTrees(count);
    if (first === undefined) throw new Error("a shard hands out no ids");
    stock.push(...rest.map((treeId) => ({ treeId, ledger, at: now })));
    if (isAlone) last = { count, at: now };
    return { treeId: first, ledger };
  } catch (error) {
    console.error(JSON.stringify({ type: "allocation of trees", error: String(error) }));
    return unpooledTree(env);
  } finally {
    if (askingSince === now) askingSince = 0;
  }
}
