import { describe, expect, it } from "vitest";
import { randomBytes, toHex } from "../../../../src/crypto/bytes.ts";
import { accessorShardNumber } from "../../../../src/listing/accessor-shards.ts";
import type { Ending } from "../../../../src/listing/inventory/ended-tokens.ts";
import { RemovalQueue } from "../../../../src/listing/updates/remove-from-lists.ts";
import { NO_ORIGIN } from "../../../../src/system/revocation-origin.ts";
import type { EndRecord } from "../../../../src/token/end-record.ts";
import { firstRowAt, routedIdText } from "../../../../src/token/ids.ts";

const TREE = toHex(randomBytes(32));
const ROW = firstRowAt(Date.UTC(2026, 5, 1));

/** So many tokens of one shard that have ended. */
function endingsOf(shard: number, count: number): Ending[] {
  const found: Ending[] = [];
  while (found.length < count) {
    const accessor = routedIdText(TREE, ROW, randomBytes(24));
    const end: EndRecord = { ...NO_ORIGIN, at: 1, how: "revoked", cause: accessor };
    if (accessorShardNumber(accessor) === shard) found.push({ accessor, end });
  }
  return found;
}

const accessorsOf = (tokens: readonly Ending[]) => tokens.map(({ accessor }) => accessor);

describe("the queue of what goes off the lists", () => {
  it("calls a shard once for what several sweeps have for it, and notifies each of them when it is removed", async () => {
    const queue = new RemovalQueue();
    const [mine, others] = [endingsOf(3, 4), endingsOf(3, 2)];
    queue.add(mine);
    queue.add(others);
    const heard: [number, readonly Ending[]][] = [];
    expect([queue.additions, queue.areGone(accessorsOf(mine)), queue.areGone(accessorsOf(others))]).toEqual([
      2,
      false,
      false,
    ]);
    await queue.send(3, 100, async (shard, accessors) => void heard.push([shard, accessors]), 0);
    expect(heard).toEqual([[3, [...mine, ...others]]]);
    expect([queue.areGone(accessorsOf(mine)), queue.areGone(accessorsOf(others))]).toEqual([true, true]);
    expect(queue.next(100, 0)).toEqual([]);
  });

  it("keeps what comes during a call for the next one, and calls no shard twice at a time", async () => {
    const queue = new RemovalQueue();
    const [first, second] = [endingsOf(5, 2), endingsOf(5, 2)];
    queue.add(first);
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    const call = queue.send(5, 100, () => promise, 0);
    queue.add(second);
    expect(queue.next(100, 0)).toEqual([]);
    await queue.send(5, 100, () => Promise.reject(new Error("called twice")), 0);
    answer();
    await call;
    expect([queue.areGone(accessorsOf(first)), queue.areGone(accessorsOf(second))]).toEqual([true, false]);
    expect(queue.next(100, 0)).toEqual([5]);
  });

  it("repeats a removal after a call that failed, and after one whose object is gone", async () => {
    const queue = new RemovalQueue();
    const some = endingsOf(0, 2);
    queue.add(some);
    await expect(queue.send(0, 100, () => Promise.reject(new Error("no answer")), 0)).rejects.toThrow("no answer");
    expect(queue.areGone(accessorsOf(some))).toBe(false);
    expect(queue.next(1, 0)).toEqual([0]);
    void queue.send(0, 100, () => new Promise(() => {}), 0);
    expect(queue.next(1, 9_000)).toEqual([]);
    expect(queue.next(1, 11_000)).toEqual([0]);
    await queue.send(0, 100, async () => {}, 11_000);
    expect(queue.areGone(accessorsOf(some))).toBe(true);
  });

  it("names shards for one turn, and takes the rest of a shard with a later call", async () => {
    const queue = new RemovalQueue();
    for (const [shard, count] of [
      [1, 6],
      [2, 3],
      [3, 5],
      [4, 1],
    ] as const)
      queue.add(endingsOf(shard, count));
    // A call counts as 50 accessors, for its commit.
    expect(queue.next(160, 0)).toEqual([1, 2, 4]);
    const most = endingsOf(7, 25);
    queue.add(most);
    const sizes: number[] = [];
    const hear = async (_: number, tokens: readonly Ending[]) => void sizes.push(tokens.length);
    while (!queue.areGone(accessorsOf(most))) await queue.send(7, 10, hear, 0);
    expect(sizes).toEqual([10, 10, 5]);
  });
});
