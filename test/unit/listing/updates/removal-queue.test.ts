import { describe, expect, it } from "vitest";
import { randomBytes, toHex } from "../../../../src/crypto/bytes.ts";
import { accessorShardNumber } from "../../../../src/listing/accessor-shard-number.ts";
import { RemovalQueue } from "../../../../src/listing/updates/removal-queue.ts";
import { firstRowAt, routedIdText } from "../../../../src/token/ids.ts";

const TREE = toHex(randomBytes(32));
const ROW = firstRowAt(Date.UTC(2026, 5, 1));

/** So many accessors of one shard. */
function accessorsOf(shard: number, count: number): string[] {
  const found: string[] = [];
  while (found.length < count) {
    const accessor = routedIdText(TREE, ROW, randomBytes(24));
    if (accessorShardNumber(accessor) === shard) found.push(accessor);
  }
  return found;
}

describe("the queue of what goes off the lists", () => {
  it("calls a shard once for what several sweeps have for it, and tells each of them when it is gone", async () => {
    const queue = new RemovalQueue();
    const [mine, others] = [accessorsOf(3, 4), accessorsOf(3, 2)];
    queue.add(mine);
    queue.add(others);
    const heard: [number, readonly string[]][] = [];
    expect([queue.additions, queue.areGone(mine), queue.areGone(others)]).toEqual([2, false, false]);
    await queue.send(3, 100, async (shard, accessors) => void heard.push([shard, accessors]), 0);
    expect(heard).toEqual([[3, [...mine, ...others]]]);
    expect([queue.areGone(mine), queue.areGone(others)]).toEqual([true, true]);
    expect(queue.next(100, 0)).toEqual([]);
  });

  it("keeps what comes during a call for the next one, and calls no shard twice at a time", async () => {
    const queue = new RemovalQueue();
    const [first, second] = [accessorsOf(5, 2), accessorsOf(5, 2)];
    queue.add(first);
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    const call = queue.send(5, 100, () => promise, 0);
    queue.add(second);
    expect(queue.next(100, 0)).toEqual([]);
    await queue.send(5, 100, () => Promise.reject(new Error("called twice")), 0);
    answer();
    await call;
    expect([queue.areGone(first), queue.areGone(second)]).toEqual([true, false]);
    expect(queue.next(100, 0)).toEqual([5]);
  });

  it("says it again after a call that failed, and after one whose object is gone", async () => {
    const queue = new RemovalQueue();
    const some = accessorsOf(0, 2);
    queue.add(some);
    await expect(queue.send(0, 100, () => Promise.reject(new Error("no answer")), 0)).rejects.toThrow("no answer");
    expect(queue.areGone(some)).toBe(false);
    expect(queue.next(1, 0)).toEqual([0]);
    void queue.send(0, 100, () => new Promise(() => {}), 0);
    expect(queue.next(1, 9_000)).toEqual([]);
    expect(queue.next(1, 11_000)).toEqual([0]);
    await queue.send(0, 100, async () => {}, 11_000);
    expect(queue.areGone(some)).toBe(true);
  });

  it("names shards for one turn, and takes the rest of a shard with a later call", async () => {
    const queue = new RemovalQueue();
    for (const [shard, count] of [
      [1, 6],
      [2, 3],
      [3, 5],
      [4, 1],
    ] as const)
      queue.add(accessorsOf(shard, count));
    // A call counts as 50 accessors, for its commit.
    expect(queue.next(160, 0)).toEqual([1, 2, 4]);
    const most = accessorsOf(7, 25);
    queue.add(most);
    const sizes: number[] = [];
    const hear = async (_: number, accessors: readonly string[]) => void sizes.push(accessors.length);
    while (!queue.areGone(most)) await queue.send(7, 10, hear, 0);
    expect(sizes).toEqual([10, 10, 5]);
  });
});
