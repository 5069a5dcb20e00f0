import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CopyUse, useOfCopy } from "../../../src/system/copy-age.ts";

const NEVER = Number.NEGATIVE_INFINITY;
const LIMITS = { maxAgeMs: 5_000, graceMs: 60_000 };

describe("what a request does about its isolate's copy", () => {
  it.each<[number, { renewalBegan?: number; troubleAt?: number }, CopyUse]>([
    [0, {}, "use"],
    [3_999, {}, "use"],
    [4_000, {}, "renew"],
    [4_200, { renewalBegan: 4_000 }, "use"],
    [4_500, { renewalBegan: 4_000 }, "renew"],
    [5_000, {}, "try"],
    [5_000, { renewalBegan: 4_900 }, "try"],
    [60_000, {}, "try"],
    [60_000, { troubleAt: 59_000 }, "renew"],
    [60_000, { troubleAt: 59_000, renewalBegan: 59_900 }, "use"],
    [60_000, { troubleAt: 58_000 }, "try"],
    [65_000, { troubleAt: 64_900 }, "wait"],
    [-1, {}, "wait"],
  ])("at the age of %d ms with %j is: %s", (age, state, expected) => {
    const source = { renewalBegan: NEVER, troubleAt: NEVER, ...state };
    expect(useOfCopy({ checkedAt: 0, ...LIMITS }, source, age)).toBe(expected);
  });

  it("without a grace time no copy is used beyond its maximum age", () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(100_000), fc.nat(100_000), (age, renewalBegan, troubleAt) => {
        const use = useOfCopy({ checkedAt: 0, maxAgeMs: 5_000, graceMs: 0 }, { renewalBegan, troubleAt }, age);
        expect(use === "wait").toBe(age >= 5_000);
      }),
    );
  });
});
