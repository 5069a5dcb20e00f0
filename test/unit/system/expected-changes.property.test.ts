import fc from "fast-check";
import { expect, it } from "vitest";
import { isAnnounced, isGoodCopy, oldestThatMatters } from "../../../src/system/expected-changes.ts";

const MAX_AGE_MS = 5_000;

/** Whole seconds, so that events meet. */
const seconds = (most: number) => fc.nat(most).map((s) => s * 1_000);

it("a copy that is used is no older than POLICY_CACHE_SECONDS, or nothing has changed since", () => {
  fc.assert(
    fc.property(
      fc.array(seconds(400), { minLength: 1, maxLength: 12 }),
      fc.array(seconds(460), { minLength: 1, maxLength: 12 }),
      seconds(5),
      (changeTimes, lookTimes, snapshotAge) => {
        const announcements: number[] = [];
        const changes = changeTimes.toSorted((a, b) => a - b);
        for (const at of changes) if (!isAnnounced(announcements.at(-1), at)) announcements.push(at);
        let copy: { readonly at: number } | null = null;
        for (const now of lookTimes.toSorted((a, b) => a - b)) {
          // The isolate's copy of the installation is up to POLICY_CACHE_SECONDS old.
          const snapshotAt = now - Math.min(snapshotAge, MAX_AGE_MS - 1);
          const announcedAt = announcements.findLast((at) => at <= snapshotAt && at >= oldestThatMatters(snapshotAt));
          if (copy && isGoodCopy({ checkedAt: copy.at, announcedAt, maxAgeMs: MAX_AGE_MS }, now)) {
            const readAt = copy.at;
            const missed = changes.find((at) => at > readAt && at <= now - MAX_AGE_MS);
            expect(missed).toBeUndefined();
          } else copy = { at: now };
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

it("a copy is good for a minute while nothing is announced, and for POLICY_CACHE_SECONDS when nobody knows", () => {
  const copy = (announcedAt: number | undefined | null) => ({ checkedAt: 0, announcedAt, maxAgeMs: MAX_AGE_MS });
  expect([59_999, 60_000].map((now) => isGoodCopy(copy(undefined), now))).toEqual([true, false]);
  expect([4_999, 5_000].map((now) => isGoodCopy(copy(null), now))).toEqual([true, false]);
  expect([4_999, 5_000].map((now) => isGoodCopy(copy(0), now))).toEqual([true, false]);
  expect(isGoodCopy(copy(undefined), -1)).toBe(false);
});
