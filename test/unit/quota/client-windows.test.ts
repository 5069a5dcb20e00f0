import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientNetworks } from "../../../src/base/client-network.ts";
import { ClientWindows } from "../../../src/quota/client-windows.ts";
import type { RateLimit } from "../../../src/quota/quota.ts";

const T0 = 1_700_000_000_000;
const limit = (change: Partial<RateLimit> = {}): RateLimit => ({ rate: 2, interval: 10, blockInterval: 0, ...change });
const windows = (most = 100) => new ClientWindows(most);

/** Whether requests at these moments (ms after the first) are let in. */
const answers = (rule: RateLimit, at: readonly number[], counts = windows()) =>
  at.map((ms) => counts.count("a", rule, T0 + ms).allowed);

describe("requests of one client under a limit", () => {
  it("are let in up to the rate in each interval, which begins with the first of them", () => {
    expect(answers(limit(), [0, 9_999, 9_999, 10_000, 10_000, 10_000])).toEqual([true, true, false, true, true, false]);
  });

  it.each([
    [0.2, 1],
    [1.4, 1],
    [7.7, 8],
  ])("a rate of %d is %i requests", (rate, most) => {
    const admitted = answers(limit({ rate }), Array<number>(20).fill(0)).filter((allowed) => allowed);
    expect(admitted).toHaveLength(most);
  });

  it("say what is left and when there are as many again", () => {
    const counts = windows();
    expect(counts.count("a", limit(), T0)).toMatchObject({ limit: 2, remaining: 1, resetMs: 10_000 });
    expect(counts.count("a", limit(), T0 + 4_000)).toMatchObject({ remaining: 0, resetMs: 6_000, first: false });
    expect(counts.count("a", limit(), T0 + 5_000)).toMatchObject({ allowed: false, resetMs: 5_000, first: true });
    expect(counts.count("a", limit(), T0 + 6_000)).toMatchObject({ allowed: false, resetMs: 4_000, first: false });
  });

  it("are refused for the length of a block that is longer than the interval, which refused ones do not prolong", () => {
    const rule = limit({ blockInterval: 60 });
    const counts = windows();
    expect(answers(rule, [0, 0, 1_000, 30_000, 60_999, 61_000], counts)).toEqual([
      true,
      true,
      false,
      false,
      false,
      true,
    ]);
    const again = windows();
    answers(rule, [0, 0, 1_000], again);
    expect(again.count("a", rule, T0 + 31_000)).toMatchObject({ resetMs: 30_000, first: false });
  });

  it("are counted in intervals that follow each other without gaps, also after a pause", () => {
    expect(answers(limit(), [0, 15_000, 24_000, 25_000, 25_000])).toEqual([true, true, true, true, false]);
    const counts = windows();
    answers(limit(), [0], counts);
    expect(counts.count("a", limit(), T0 + 15_000)).toMatchObject({ remaining: 1, resetMs: 5_000 });
  });

  it("are counted from zero, and counted on, when the clock goes back", () => {
    const back = -3_597_000;
    expect(answers(limit(), [0, 0, 0, back, back, back])).toEqual([true, true, false, true, true, false]);
  });

  it("of others do not count", () => {
    const counts = windows();
    answers(limit(), [0, 0, 0], counts);
    expect(counts.count("b", limit(), T0)).toMatchObject({ allowed: true, remaining: 1 });
  });

  it("are never more than the rate in any interval of their own", () => {
    const gap = fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 15_000 }));
    const gaps = fc.array(gap, { maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 5 }), (steps, rate) => {
        const counts = windows();
        let now = T0;
        const perInterval = new Map<number, number>();
        for (const step of steps) {
          now += step;
          if (!counts.count("a", limit({ rate }), now).allowed) continue;
          const interval = Math.floor((now - T0 - (steps[0] ?? 0)) / 10_000);
          perInterval.set(interval, (perInterval.get(interval) ?? 0) + 1);
        }
        expect(Math.max(0, ...perInterval.values())).toBeLessThanOrEqual(rate);
      }),
    );
  });
});

describe("a flood of addresses", () => {
  it("evicts the least recently seen client, at the earliest beyond half of the bound", () => {
    const counts = windows(1_000);
    answers(limit(), [0, 0, 0], counts);
    for (let i = 0; i < 499; i++) counts.count(`other ${i}`, limit(), T0 + 1);
    expect(counts.count("a", limit(), T0 + 1).allowed).toBe(false);
    for (let i = 0; i < 2_000; i++) counts.count(`flood ${i}`, limit(), T0 + 2);
    expect(counts.count("a", limit(), T0 + 2).allowed).toBe(true);
  });

  it("does not let go a client that continues", () => {
    const counts = windows(1_000);
    answers(limit(), [0, 0, 0], counts);
    for (let i = 0; i < 20_000; i++) {
      counts.count(`flood ${i}`, limit(), T0 + 2);
      if (i % 400 === 0) expect(counts.count("a", limit(), T0 + 2).allowed).toBe(false);
    }
  });
});

describe("requests of an IPv6 client", () => {
  /** How many of the requests from these addresses are let in, all at once. */
  const admitted = (addresses: readonly string[], counts = windows(1_000)) =>
    addresses.filter((address) => counts.countClient("x", clientNetworks(address), limit(), T0).allowed).length;

  it("are let in at the rate from a /64, at twice the rate from a /56 and at four times the rate from a /48", () => {
    const numbers = Array.from({ length: 200 }, (_, number) => number.toString(16));
    expect(admitted(numbers.map((number) => `2001:db8:1:2::${number}`))).toBe(2);
    expect(admitted(numbers.map((number) => `2001:db8:1:${number}::1`))).toBe(4);
    expect(admitted(numbers.map((number) => `2001:db8:1:${number}00::1`))).toBe(8);
    expect(admitted(numbers.map((number) => `2001:db8:${number}::1`))).toBe(200);
  });

  it("use up nothing of the wider networks when their own /64 sends too much", () => {
    const counts = windows(1_000);
    expect(admitted(Array<string>(50).fill("2001:db8:1:2::1"), counts)).toBe(2);
    expect(admitted(["2001:db8:1:3::1", "2001:db8:1:3::1"], counts)).toBe(2);
  });

  it("are counted together with those of its address in IPv4 when they come from the mapped one", () => {
    expect(admitted(["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"])).toBe(2);
  });
});
