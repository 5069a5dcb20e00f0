import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ShareNetworks } from "../../../gateway/client-shares.ts";
import { type Holding, type MemoryBounds, MemoryBudget } from "../../../gateway/memory-budget.ts";
import { clientNetworks } from "../../../src/base/client-network.ts";

const FOREVER_MS = 600_000;

function budgetOf(bounds: Partial<MemoryBounds> = {}): MemoryBudget {
  return new MemoryBudget({ totalBytes: 100, percent: 100, leastBytes: 0, owedMs: FOREVER_MS, ...bounds });
}

/** A holding that notes its name when it is dropped. */
function holding(name: string, dropped: string[] = [], networks: ShareNetworks = [name]): Holding {
  return { networks, heldBytes: 0, drop: () => dropped.push(name) };
}

describe("a full budget", () => {
  it("drops what has waited longest for its client, and as little as it needs", () => {
    const budget = budgetOf();
    const dropped: string[] = [];
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => holding(name, dropped));
    if (!a || !b || !c || !d) throw new Error("four holdings");
    for (const each of [a, b, c]) expect(budget.grow(each, 30)).toBe(true);
    // The client of the first has read.
    budget.shrink(a, 5);
    expect(budget.grow(d, 30)).toBe(true);
    expect([dropped, budget.used]).toEqual([["b"], 85]);
    // The client of "c" has waited longest now.
    expect(budget.grow(a, 40)).toBe(true);
    expect([dropped, budget.used]).toEqual([["b", "c"], 95]);
  });

  it("drops the one that grows when that has waited longest", () => {
    const budget = budgetOf();
    const dropped: string[] = [];
    const slow = holding("slow", dropped);
    budget.grow(slow, 60);
    budget.grow(holding("other", dropped), 30);
    expect(budget.grow(slow, 20)).toBe(false);
    expect([dropped, budget.used, slow.heldBytes]).toEqual([["slow"], 30, 0]);
  });

  it("keeps what no longer waits for its client, and refuses what finds no memory", () => {
    const budget = budgetOf();
    const dropped: string[] = [];
    const complete = holding("complete", dropped);
    budget.grow(complete, 90);
    budget.pin(complete);
    expect(budget.grow(holding("late", dropped), 20)).toBe(false);
    expect([dropped, budget.used]).toEqual([["late"], 90]);
    budget.end(complete);
    budget.end(complete);
    expect(budget.used).toBe(0);
  });

  it("never holds more than it has, and is empty when everything has ended", () => {
    const steps = fc.array(
      fc.record({ at: fc.nat(4), grows: fc.boolean(), bytes: fc.integer({ min: 1, max: 60 }), network: fc.nat(2) }),
    );
    fc.assert(
      fc.property(steps, (taken) => {
        const budget = budgetOf();
        const holdings = Array.from({ length: 5 }, (_, index) => holding(`${index}`, [], [`${index % 3}`]));
        for (const { at, grows, bytes } of taken) {
          const one = holdings[at];
          if (!one) continue;
          if (grows) budget.grow(one, bytes);
          else budget.shrink(one, Math.min(bytes, one.heldBytes));
          expect(budget.used).toBe(holdings.reduce((sum, { heldBytes }) => sum + heldBytes, 0));
          expect(budget.used).toBeLessThanOrEqual(100);
        }
        for (const one of holdings) budget.end(one);
        expect(budget.used).toBe(0);
      }),
    );
  });
});

describe("a client", () => {
  it("alone may hold its percentage, and of many an equal part, but not less than the least", () => {
    const budget = budgetOf({ percent: 25, leastBytes: 10 });
    expect([budget.admits(["a"], 25), budget.admits(["a"], 26)]).toEqual([true, false]);
    for (const name of ["a", "b", "c", "d", "e"]) budget.grow(holding(name), 1);
    expect([budget.admits(["a"], 19), budget.admits(["a"], 20)]).toEqual([true, false]);
    for (let i = 0; i < 50; i++) budget.grow(holding(`${i}`), 1);
    expect([budget.admits(["late"], 10), budget.admits(["late"], 11)]).toEqual([true, false]);
    expect(budget.admits([], 1_000)).toBe(true);
  });

  it("is a /64 of IPv6; a /56 may hold twice as much, and a /48 four times as much", () => {
    const budget = budgetOf({ percent: 10 });
    const networksOf = (third: string) => clientNetworks(`2001:db8:1:${third}::1`);
    const hold = (third: string) => budget.grow(holding(third, [], networksOf(third)), 10);
    hold("1");
    expect([budget.admits(networksOf("1"), 1), budget.admits(networksOf("2"), 10)]).toEqual([false, true]);
    hold("2");
    expect([budget.admits(networksOf("3"), 1), budget.admits(networksOf("100"), 10)]).toEqual([false, true]);
    hold("100");
    hold("200");
    expect([budget.admits(networksOf("300"), 1), budget.admits(["192.0.2.7"], 10)]).toEqual([false, true]);
  });

  it("whose holding was dropped still has it counted for a while", async () => {
    const budget = budgetOf({ percent: 50, owedMs: 0 });
    budget.grow(holding("a"), 40);
    budget.grow(holding("b"), 80);
    expect([budget.used, budget.holdsFor(["a"]), budget.admits(["a"], 20)]).toEqual([80, true, false]);
    await expect.poll(() => budget.holdsFor(["a"])).toBe(false);
    expect([budget.used, budget.admits(["a"], 20)]).toEqual([80, true]);
  });
});
