import { describe, expect, it } from "vitest";
import { randomBytes, toHex } from "../../../../src/crypto/bytes.ts";
import { accessorShardNumber } from "../../../../src/listing/accessor-shards.ts";
import type { InventoryEntry } from "../../../../src/listing/inventory/entry.ts";
import { type ShardUpdates, UpdateQueue } from "../../../../src/listing/updates/publish.ts";
import { firstRowAt, routedIdText } from "../../../../src/token/ids.ts";

const TREE = toHex(randomBytes(32));

function entryOf(children = 0): InventoryEntry {
  const accessor = routedIdText(TREE, firstRowAt(Date.UTC(2026, 5, 1)), randomBytes(24));
  return {
    accessor,
    parent: null,
    first: true,
    mount: "token",
    path: "auth/token/create",
    role: "",
    displayName: "token",
    policies: ["default"],
    entityId: "",
    expiresAt: null,
    renewedAt: null,
    leased: true,
    numUses: 0,
    usesLeft: 0,
    period: 0,
    explicitMaxTtl: 0,
    children,
    lastUsed: null,
  };
}

/** A queue with what its shards have received. */
function heard() {
  const queue = new UpdateQueue();
  const calls: [shard: number, updates: ShardUpdates][] = [];
  const send = (now = 0) =>
    queue.send(async (shard, updates) => {
      calls.push([shard, updates]);
    }, now);
  return { queue, calls, send };
}

describe("the queue of updates for the shards", () => {
  it("sends each token once, in its latest state", async () => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: null });
    queue.add({ kind: "changed", value: { ...entry, children: 2 } });
    await send();
    await send();
    const shard = accessorShardNumber(entry.accessor);
    expect(calls).toEqual([[shard, { made: [{ ...entry, children: 2 }], changed: [], sizes: [], started: [] }]]);
    expect(queue.isOnItsWay(entry.accessor)).toBe(false);
    expect(queue.nextSendIn).toBeNull();
  });

  it("keeps what a shard may not have received, with the changes since", async () => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: null });
    const failing = queue.send(async () => {
      queue.add({ kind: "changed", value: { ...entry, children: 1 } });
      throw new Error("no answer");
    }, 0);
    await expect(failing).rejects.toThrow("no answer");
    expect(queue.isOnItsWay(entry.accessor)).toBe(true);
    await send();
    expect(calls.map(([, { made }]) => made)).toEqual([[{ ...entry, children: 1 }]]);
  });

  it("sends a shard nothing while a call is pending, until that call counts as lost", async () => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: null });
    void queue.send(() => new Promise(() => {}), 0);
    queue.add({ kind: "changed", value: { ...entry, children: 1 } });
    await send(1000);
    expect(calls).toEqual([]);
    await send(31_000);
    expect(calls.map(([, { made }]) => made)).toEqual([[{ ...entry, children: 1 }]]);
  });

  it.each([
    ["an answer", (late: PromiseWithResolvers<void>) => late.resolve()],
    ["a failure", (late: PromiseWithResolvers<void>) => late.reject(new Error("no answer"))],
  ])("keeps the call in flight when %s of a lost call comes late", async (_, settle) => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: null });
    const [late, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lost = queue.send(() => late.promise, 0).catch(() => {});
    const again = queue.send(() => later.promise, 31_000);
    settle(late);
    await lost;
    queue.add({ kind: "changed", value: { ...entry, children: 1 } });
    // An older value must not arrive after this one.
    await send(31_000);
    expect(calls).toEqual([]);
    later.resolve();
    await again;
    await send(31_000);
    const shard = accessorShardNumber(entry.accessor);
    expect(calls).toEqual([[shard, { made: [], changed: [{ ...entry, children: 1 }], sizes: [], started: [] }]]);
  });

  it("does not list a token whose updates were cancelled, and notifies the shard that allocated its tree of the use", async () => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: 3 });
    await queue.cancelUpdates([entry.accessor]);
    await send();
    expect(calls.map(([shard, { made, started }]) => [shard, made, started])).toContainEqual([
      3,
      [],
      [{ tree: TREE, row: firstRowAt(Date.UTC(2026, 5, 1)) }],
    ]);
    expect(calls.flatMap(([, { made }]) => made)).toEqual([]);
  });

  it("notifies the shard that allocated a tree when its first token is listed, and not before", async () => {
    const { queue, calls, send } = heard();
    const entry = entryOf();
    queue.add({ kind: "made", value: entry, ledger: 3 });
    await queue.send(() => Promise.reject(new Error("no answer")), 0).catch(() => {});
    await send();
    expect(calls.flatMap(([, { started }]) => started)).toEqual([]);
    await send();
    expect(calls.at(-1)).toEqual([
      3,
      { made: [], changed: [], sizes: [], started: [{ tree: TREE, row: firstRowAt(Date.UTC(2026, 5, 1)) }] },
    ]);
  });
});
