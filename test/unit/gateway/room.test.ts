import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Holding, Room, type RoomBounds } from "../../../gateway/room.ts";
import type { ShareNetworks } from "../../../gateway/shares.ts";
import { clientNetworks } from "../../../src/base/client-network.ts";

const FOREVER_MS = 600_000;

function roomOf(bounds: Partial<RoomBounds> = {}): Room {
  return new Room({ totalBytes: 100, percent: 100, leastBytes: 0, owedMs: FOREVER_MS, ...bounds });
}

/** A holding that notes its name when it is dropped. */
function holding(name: string, dropped: string[] = [], networks: ShareNetworks = [name]): Holding {
  return { networks, heldBytes: 0, drop: () => dropped.push(name) };
}

describe("a full room", () => {
  it("drops what has waited longest for its client, and as little as it needs", () => {
    const room = roomOf();
    const dropped: string[] = [];
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => holding(name, dropped));
    if (!a || !b || !c || !d) throw new Error("four holdings");
    for (const each of [a, b, c]) expect(room.grow(each, 30)).toBe(true);
    // The client of the first has read.
    room.shrink(a, 5);
    expect(room.grow(d, 30)).toBe(true);
    expect([dropped, room.used]).toEqual([["b"], 85]);
    // The client of "c" has waited longest now.
    expect(room.grow(a, 40)).toBe(true);
    expect([dropped, room.used]).toEqual([["b", "c"], 95]);
  });

  it("drops the one that grows when that has waited longest", () => {
    const room = roomOf();
    const dropped: string[] = [];
    const slow = holding("slow", dropped);
    room.grow(slow, 60);
    room.grow(holding("other", dropped), 30);
    expect(room.grow(slow, 20)).toBe(false);
    expect([dropped, room.used, slow.heldBytes]).toEqual([["slow"], 30, 0]);
  });

  it("keeps what no longer waits for its client, and refuses what finds no memory", () => {
    const room = roomOf();
    const dropped: string[] = [];
    const complete = holding("complete", dropped);
    room.grow(complete, 90);
    room.pin(complete);
    expect(room.grow(holding("late", dropped), 20)).toBe(false);
    expect([dropped, room.used]).toEqual([["late"], 90]);
    room.end(complete);
    room.end(complete);
    expect(room.used).toBe(0);
  });

  it("never holds more than it has, and is empty when everything has ended", () => {
    const steps = fc.array(
      fc.record({ at: fc.nat(4), grows: fc.boolean(), bytes: fc.integer({ min: 1, max: 60 }), network: fc.nat(2) }),
    );
    fc.assert(
      fc.property(steps, (taken) => {
        const room = roomOf();
        const holdings = Array.from({ length: 5 }, (_, index) => holding(`${index}`, [], [`${index % 3}`]));
        for (const { at, grows, bytes } of taken) {
          const one = holdings[at];
          if (!one) continue;
          if (grows) room.grow(one, bytes);
          else room.shrink(one, Math.min(bytes, one.heldBytes));
          expect(room.used).toBe(holdings.reduce((sum, { heldBytes }) => sum + heldBytes, 0));
          expect(room.used).toBeLessThanOrEqual(100);
        }
        for (const one of holdings) room.end(one);
        expect(room.used).toBe(0);
      }),
    );
  });
});

describe("a client", () => {
  it("alone may hold its percentage, and of many an equal part, but not less than the least", () => {
    const room = roomOf({ percent: 25, leastBytes: 10 });
    expect([room.admits(["a"], 25), room.admits(["a"], 26)]).toEqual([true, false]);
    for (const name of ["a", "b", "c", "d", "e"]) room.grow(holding(name), 1);
    expect([room.admits(["a"], 19), room.admits(["a"], 20)]).toEqual([true, false]);
    for (let i = 0; i < 50; i++) room.grow(holding(`${i}`), 1);
    expect([room.admits(["late"], 10), room.admits(["late"], 11)]).toEqual([true, false]);
    expect(room.admits([], 1_000)).toBe(true);
  });

  it("is a /64 of IPv6; a /56 may hold twice as much, and a /48 four times as much", () => {
    const room = roomOf({ percent: 10 });
    const networksOf = (third: string) => clientNetworks(`2001:db8:1:${third}::1`);
    const hold = (third: string) => room.grow(holding(third, [], networksOf(third)), 10);
    hold("1");
    expect([room.admits(networksOf("1"), 1), room.admits(networksOf("2"), 10)]).toEqual([false, true]);
    hold("2");
    expect([room.admits(networksOf("3"), 1), room.admits(networksOf("100"), 10)]).toEqual([false, true]);
    hold("100");
    hold("200");
    expect([room.admits(networksOf("300"), 1), room.admits(["192.0.2.7"], 10)]).toEqual([false, true]);
  });

  it("whose holding was dropped still has it counted for a while", async () => {
    const room = roomOf({ percent: 50, owedMs: 0 });
    room.grow(holding("a"), 40);
    room.grow(holding("b"), 80);
    expect([room.used, room.holdsFor(["a"]), room.admits(["a"], 20)]).toEqual([80, true, false]);
    await expect.poll(() => room.holdsFor(["a"])).toBe(false);
    expect([room.used, room.admits(["a"], 20)]).toEqual([80, true]);
  });
});
