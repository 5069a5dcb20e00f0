import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_BATCH_USES } from "../../../src/audit/entry.ts";
import { MAX_ALL_IN_FULL, MAX_IN_FULL, MAX_SOURCES, RefusalBound } from "../../../src/audit/writer/refusal-bound.ts";
import { HOUR_MS, MAX_COUNTERS, UseCounts } from "../../../src/audit/writer/use-counts.ts";

describe("refusals", () => {
  it("are all in full or counted, and of each source and hour a bounded number in full", () => {
    const one = fc.record({
      source: fc.constantFrom("", "192.0.2.1", "192.0.2.2", "2001:db8:0:0::/64"),
      after: fc.constantFrom(0, 0, 0, 1, 60_000, HOUR_MS, -5),
      times: fc.integer({ min: 1, max: 120 }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 15 }), (history) => {
        const bound = new RefusalBound("network");
        let now = 1_000_000 * HOUR_MS;
        let latest = now;
        let all = 0;
        let inFull = 0;
        let counted = 0;
        for (const { source, after, times } of history) {
          now += after;
          latest = Math.max(latest, now);
          for (let count = 0; count < times; count++) {
            all++;
            if (bound.admit(source, now)) inFull++;
          }
        }
        for (const { count, first, last } of bound.takeEnded(latest + HOUR_MS)) {
          counted += count;
          expect(first).toBeLessThanOrEqual(last);
        }
        expect(inFull + counted).toBe(all);
      }),
    );
  });

  it("of one source are in full up to a bound until the next hour", () => {
    const bound = new RefusalBound("token");
    const admitted = (source: string, now: number) =>
      Array.from({ length: MAX_IN_FULL + 5 }, () => bound.admit(source, now)).filter(Boolean).length;
    expect(admitted("a", HOUR_MS)).toBe(MAX_IN_FULL);
    expect(admitted("b", HOUR_MS)).toBe(MAX_IN_FULL);
    expect(admitted("a", 2 * HOUR_MS)).toBe(MAX_IN_FULL);
    const counts = bound.takeEnded(2 * HOUR_MS).map(({ of, source, count }) => [of, source, count]);
    expect(counts).toEqual([
      ["token", "a", 5],
      ["token", "b", 5],
    ]);
    expect(bound.takeEnded(2 * HOUR_MS)).toEqual([]);
  });

  it("are no more in full after the clock was set back", () => {
    const bound = new RefusalBound("token");
    const admitted = (now: number) =>
      Array.from({ length: MAX_IN_FULL + 5 }, () => bound.admit("a", now)).filter(Boolean).length;
    expect(admitted(2 * HOUR_MS)).toBe(MAX_IN_FULL);
    expect([admitted(HOUR_MS), admitted(2 * HOUR_MS)]).toEqual([0, 0]);
  });

  it("of very many addresses are bounded together, and counted together", () => {
    const bound = new RefusalBound("network");
    let admitted = 0;
    for (let at = 0; at < 3 * MAX_SOURCES; at++) {
      if (bound.admit(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, HOUR_MS)) admitted++;
    }
    expect(admitted).toBeLessThanOrEqual(MAX_ALL_IN_FULL);
    const counts = bound.takeEnded(2 * HOUR_MS);
    expect(counts.length).toBeLessThanOrEqual(MAX_SOURCES + 1);
    expect(counts.find(({ source }) => source === "")?.count).toBeGreaterThan(MAX_SOURCES);
    expect(admitted + counts.reduce((sum, { count }) => sum + count, 0)).toBe(3 * MAX_SOURCES);
  });
});

describe("counts of use", () => {
  it("add up to all uses that they accepted, by token, address and hour", () => {
    const use = fc.record({
      accessor: fc.constantFrom("a", "b"),
      address: fc.constantFrom("", "192.0.2.1"),
      at: fc.integer({ min: 0, max: 3 * HOUR_MS }),
    });
    fc.assert(
      fc.property(fc.array(use), (history) => {
        const uses = new UseCounts();
        for (const { accessor, address, at } of history) expect(uses.add(accessor, address, at)).toBe(true);
        const taken = uses.take();
        expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(history.length);
        for (const { accessor, address, hour, count, first, last } of taken) {
          const own = history.filter((one) => one.accessor === accessor && one.address === address);
          const times = own.map(({ at }) => at).filter((at) => at >= hour && at < hour + HOUR_MS);
          expect([count, first, last]).toEqual([times.length, Math.min(...times), Math.max(...times)]);
        }
        expect(uses.take()).toEqual([]);
      }),
    );
  });

  it("are bounded, and leave in one batch", () => {
    const uses = new UseCounts();
    const accepted = Array.from({ length: MAX_COUNTERS }, (_, at) => uses.add(`${at}`, "", 0));
    expect(accepted.every(Boolean)).toBe(true);
    expect(uses.add("one more", "", 0)).toBe(false);
    expect(uses.add("0", "", 0)).toBe(true);
    const taken = uses.take();
    expect(taken).toHaveLength(MAX_COUNTERS);
    expect(taken.length).toBeLessThanOrEqual(MAX_BATCH_USES);
    expect(uses.take()).toEqual([]);
  });
});
