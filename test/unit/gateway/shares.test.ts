import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Shares } from "../../../gateway/shares.ts";

describe("shares", () => {
  it("let no key take more than its part, and all keys together not more than there is", () => {
    const shares = new Shares(10, 4);
    expect([shares.take("a", 4), shares.take("a", 1)]).toEqual([true, false]);
    expect([shares.take("b", 4), shares.take("c", 3), shares.take("c", 2)]).toEqual([true, false, true]);
    expect([shares.hasShareLeft("a", 1), shares.hasShareLeft("c", 1)]).toEqual([false, true]);
    shares.giveBack("a", 1);
    expect([shares.take("c", 1), shares.take("c", 1)]).toEqual([true, false]);
  });

  it("bound one without a key by the whole alone", () => {
    const shares = new Shares(10, 4);
    expect([shares.take(null, 9), shares.take(null, 2), shares.take("a", 1)]).toEqual([true, false, true]);
  });

  it("are all there again when everything is given back", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", null), fc.integer({ min: 1, max: 6 })));
    fc.assert(
      fc.property(steps, (wanted) => {
        const shares = new Shares(12, 6);
        const taken = wanted.filter(([key, amount]) => shares.take(key, amount));
        expect(taken.reduce((sum, [, amount]) => sum + amount, 0)).toBeLessThanOrEqual(12);
        for (const [key, amount] of taken) shares.giveBack(key, amount);
        expect(shares.take("a", 6) && shares.take("b", 6)).toBe(true);
      }),
    );
  });
});
