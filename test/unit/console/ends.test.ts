import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EndingTokens } from "../../../client/answers.d.ts";
import { barsOf } from "../../../console/ends/bars-of-span.ts";
import { endSums, groupsText, hoursInBars, othersText, partsOfBar } from "../../../console/ends/ending-groups.ts";
import { endsWithin } from "../../../console/ends/ends-within.ts";
import { barAt, RANGES, rangeOf, spanOf } from "../../../console/ends/time-span.ts";

const ranges = fc.constantFrom(...RANGES.map(([range]) => range));
const moments = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2090, 0, 1) });

describe("what ends when", () => {
  it("divides a time into bars without a gap, and puts each moment of it into one", () => {
    fc.assert(
      fc.property(ranges, moments, fc.nat({ max: 999 }), (range, now, part) => {
        const span = spanOf(range, now);
        expect(span.from + span.bars * span.step).toBe(span.until);
        const time = Math.floor(span.from + (part / 1000) * (span.until - span.from));
        const at = barAt(span, time);
        expect(span.from + at * span.step).toBeLessThanOrEqual(time);
        expect(span.from + (at + 1) * span.step).toBeGreaterThan(time);
        expect([barAt(span, span.from - 1), barAt(span, span.until), barAt(span, Number.NaN)]).toEqual([-1, -1, -1]);
      }),
    );
  });

  it("begins tomorrow at midnight of this place, after any moment of today", () => {
    const now = new Date(2026, 10, 22, 23, 59).getTime();
    const { from, until } = spanOf("tomorrow", now);
    expect(new Date(from).getDate()).toBe(23);
    expect(until - from).toBe(24 * 3_600_000);
  });

  it("takes a range that it does not know for the next day", () => {
    expect([rangeOf("week"), rangeOf("soon"), rangeOf(null)]).toEqual(["week", "day", "day"]);
  });

  it("gives each bar a part for each group, and one for all others", () => {
    const ends: EndingTokens = {
      ...{ from: "2026-11-22T10:00:00Z", step: 3600, fresh_as_of: "2026-11-22T10:00:00Z" },
      ...{ total: 9, parts: [5, 4] },
      groups: [
        { key: "api", count: 4, parts: [4, 0] },
        { key: "cron", count: 3, parts: [0, 3] },
      ],
      other: { count: 2, parts: [1, 1] },
    };
    const parts = (at: number) => partsOfBar(ends, at, (group) => `hue-${group}`, "rest");
    expect(parts(0)).toEqual([
      { hue: "hue-api", value: 4 },
      { hue: "rest", value: 1 },
    ]);
    expect(parts(1).map(({ value }) => value)).toEqual([3, 1]);
  });

  it("says when only the largest groups are listed, and what the last row has", () => {
    expect([groupsText(1), groupsText(50)]).toEqual(["1 group", "the largest 50 groups"]);
    expect(othersText("role", 3)).toBe("without a role");
    expect(othersText("role", 50)).toBe("all others, and those without a role");
  });

  it("counts hours in bars where groups are not known", () => {
    const now = Date.UTC(2026, 10, 22, 10, 30);
    const span = spanOf("week", now);
    const hours = [10, 11, 16, 9].map((hour) => ({
      key: `2026-11-22T${String(hour).padStart(2, "0")}:00:00Z`,
      count: 2,
    }));
    expect(hoursInBars(span, [...hours, { key: "never", count: 7 }]).slice(0, 2)).toEqual([4, 2]);
  });
});

describe("the sums of the page", () => {
  const HOUR_MS = 3_600_000;
  const from = Date.parse("2026-11-23T00:00:00Z");
  const span = { from, until: from + 24 * HOUR_MS, bars: 24, step: HOUR_MS, barText: "" };
  const at = (hours: number, count: number) => ({ key: new Date(from + hours * HOUR_MS).toISOString(), count });

  it("add up, also what ends before the time that is shown, and hours that the count does not name", () => {
    const groups = [at(-2, 349), at(0, 20), at(23, 8), at(24, 10), { key: "never", count: 1 }];
    const sums = endSums(span, { groups, total: 394 });
    expect(sums).toEqual({ before: 349, within: 28, later: 16, never: 1, all: 394 });
    expect(sums.before + sums.within + sums.later + sums.never).toBe(sums.all);
  });

  it("have the tokens of teams that end then, the first to end first", () => {
    const all = [at(24, 0), at(5, 0), at(0, 0), at(-1, 0)].map(({ key }) => key);
    expect(endsWithin(span, [...all, null], (end) => end)).toEqual([all[2], all[1]]);
  });
});

it("each bar says when its tokens end, and leads to them", () => {
  const span = spanOf("week", Date.UTC(2026, 10, 22, 10, 30));
  const bars = barsOf(span, "week", [1, 2, ...Array(26).fill(0)], () => []);
  expect(bars).toHaveLength(28);
  expect(bars.filter(({ label }) => label !== "")).toHaveLength(7);
  expect(bars[0]?.text).toMatch(/^1 token ends between /);
  // Both bounds of the API are exclusive.
  expect(bars[1]).toMatchObject({
    text: expect.stringMatching(/^2 tokens end between /),
    href: "/ui/tokens?ends_after=2026-11-22T15%3A59%3A59.999Z&ends_before=2026-11-22T22%3A00%3A00.000Z&sort=end",
  });
});
