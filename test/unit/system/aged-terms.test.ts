import { describe, expect, it } from "vitest";
import { agedTerms, termsAbout } from "../../../src/system/aged-terms.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TERMS = [
  { version: 1, usedFrom: 0 },
  { version: 2, usedFrom: 10 * DAY },
  { version: 3, usedFrom: 20 * DAY },
];
const aged = (now: number, lifeMs = 5 * DAY, ignoranceMs = HOUR) => agedTerms(TERMS, now, lifeMs / 1000, ignoranceMs);

describe("terms that may be deleted", () => {
  it("are those whose last batch token has ended, with two hours for what was under way", () => {
    const end = 10 * DAY + HOUR + 5 * DAY + 2 * HOUR;
    expect(aged(end - 1)).toEqual([]);
    expect(aged(end)).toEqual([{ version: 1, from: 0, until: 10 * DAY + 2 * HOUR }]);
    expect(aged(end + 10 * DAY).map(({ version }) => version)).toEqual([1, 2]);
  });

  it("are never the newest, nor one that is still used because the next has not begun", () => {
    expect(aged(1e15).map(({ version }) => version)).toEqual([1, 2]);
    expect(agedTerms([{ version: 7, usedFrom: 0 }], 1e15, 0, 0)).toEqual([]);
    expect(
      agedTerms(
        [
          { version: 7, usedFrom: 0 },
          { version: 8, usedFrom: 1e15 },
        ],
        1e15 - 1,
        0,
        0,
      ),
    ).toEqual([]);
  });

  it("are needed by what was made in their time, and near its ends by what was made in that of a neighbour", () => {
    const terms = aged(1e15);
    expect(termsAbout(terms, 5 * DAY)).toEqual([1]);
    expect(termsAbout(terms, 10 * DAY)).toEqual([1, 2]);
    expect(termsAbout(terms, 15 * DAY)).toEqual([2]);
    expect(termsAbout(terms, 20 * DAY + HOUR)).toEqual([2]);
    expect(termsAbout(terms, 25 * DAY)).toEqual([]);
  });
});
