import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ShareNetworks, Shares } from "../../../gateway/client-shares.ts";
import { clientNetworks } from "../../../src/base/client-network.ts";

/** Takes one after the other for a client until it gets no more; the number that it got. */
function takeAll(shares: Shares, networks: ShareNetworks): number {
  let count = 0;
  while (shares.take(networks, 1)) count++;
  return count;
}

describe("shares", () => {
  it("let a client take its percentage, and one without networks everything", () => {
    for (const [percent, most] of [
      [25, 250],
      [50, 500],
      [1, 10],
      [100, 1000],
    ] as const) {
      expect(takeAll(new Shares(1000, percent), ["a"])).toBe(most);
    }
    expect(takeAll(new Shares(1000, 25), [])).toBe(1000);
  });

  it("leave something for another client, however many take what they can get", () => {
    const shares = new Shares(512, 25);
    for (const client of ["a", "b", "c", "d"]) takeAll(shares, [client]);
    expect(512 - shares.used).toBe(162);
    for (const client of ["e", "f", "g", "h", "i", "j"]) takeAll(shares, [client]);
    expect(takeAll(shares, ["late"])).toBeGreaterThan(5);
  });

  it("are left by four clients to three sevenths once each takes what it may", () => {
    const shares = new Shares(700, 25);
    const clients = ["a", "b", "c", "d"];
    for (let round = 0; round < 700; round++) for (const client of clients) shares.take([client], 1);
    expect(shares.used).toBe(400);
  });

  it("say whether the client's share or the total is used up", () => {
    const shares = new Shares(8, 50);
    expect(takeAll(shares, ["a"])).toBe(4);
    expect(shares.exceeded(["a"], 1)).toBe("a");
    expect(takeAll(shares, [])).toBe(4);
    expect([shares.exceeded(["b"], 1), shares.take(["b"], 1)]).toEqual([undefined, false]);
  });

  it("are those of a /64 of IPv6, twice as much of a /56, and four times as much of a /48", () => {
    const networksOf = (third: string) => clientNetworks(`2001:db8:1:${third}::1`);
    const shares = new Shares(1000, 25);
    expect(takeAll(shares, networksOf("1"))).toBe(250);
    const [, inFiftySix, inFortyEight] = networksOf("1");
    for (let i = 2; i < 200; i++) takeAll(shares, networksOf(i.toString(16)));
    expect([shares.used, shares.exceeded(networksOf("ff"), 1)]).toEqual([400, inFiftySix]);
    for (let i = 1; i < 256; i++) takeAll(shares, networksOf(`${i.toString(16)}00`));
    expect([shares.used, shares.exceeded(networksOf("ff00"), 1)]).toEqual([571, inFortyEight]);
    expect(takeAll(shares, ["another"])).toBe(107);
  });

  it("are all there again when everything is given back, and never more than there is", () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom<ShareNetworks>(["a"], ["b"], ["c", "d"], []), fc.integer({ min: 1, max: 6 })),
    );
    fc.assert(
      fc.property(steps, (wanted) => {
        const shares = new Shares(12, 50);
        const taken = wanted.filter(([networks, amount]) => shares.take(networks, amount));
        expect(shares.used).toBe(taken.reduce((sum, [, amount]) => sum + amount, 0));
        expect(shares.used).toBeLessThanOrEqual(12);
        for (const [networks, amount] of taken) shares.giveBack(networks, amount);
        expect([shares.used, shares.take(["a"], 6), shares.take([], 6)]).toEqual([0, true, true]);
      }),
    );
  });
});
