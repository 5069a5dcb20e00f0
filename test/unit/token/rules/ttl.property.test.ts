import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grantTtl, type TtlTerms } from "../../../../src/token/rules/ttl.ts";

const seconds = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200_000 }));
const now = Date.UTC(2026, 10, 1);

const terms: fc.Arbitrary<TtlTerms> = fc
  .record({
    age: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400_000_000 })),
    requestedTtl: seconds,
    defaultTtl: fc.integer({ min: 1, max: 200_000 }),
    period: seconds,
    explicitMaxTtl: seconds,
    maxSeconds: fc.integer({ min: 1, max: 200_000 }),
  })
  .map(({ age, maxSeconds, ...rest }) => ({
    ...rest,
    issuedAt: now - age,
    now,
    mount: { defaultSeconds: maxSeconds, maxSeconds },
  }));

describe("a granted lifetime", () => {
  it("never passes the hard end", () => {
    let granted = 0;
    fc.assert(
      fc.property(terms, (input) => {
        const { issuedAt, period, explicitMaxTtl, mount } = input;
        const result = grantTtl(input);
        const explicitEnd = explicitMaxTtl > 0 ? issuedAt + explicitMaxTtl * 1000 : Number.POSITIVE_INFINITY;
        const mountEnd = period > 0 ? Number.POSITIVE_INFINITY : issuedAt + mount.maxSeconds * 1000;
        const end = Math.min(explicitEnd, mountEnd);
        if (!result.ok) {
          expect(end).toBeLessThanOrEqual(now);
          return;
        }
        granted++;
        const { ttl, expiresAt } = result.value;
        expect(expiresAt).toBeGreaterThan(now);
        expect(expiresAt).toBeLessThanOrEqual(end);
        expect(expiresAt).toBeLessThanOrEqual(now + mount.maxSeconds * 1000);
        if (period > 0) expect(expiresAt).toBeLessThanOrEqual(now + period * 1000);
        // The warning names what was granted, except for the part of a second.
        expect(Math.abs(expiresAt - now - ttl * 1000)).toBeLessThan(1000);
      }),
      { numRuns: 6_000 },
    );
    expect(granted).toBeGreaterThan(1500);
  });

  it("gives what is asked for when nothing forbids it", () => {
    fc.assert(
      fc.property(terms, (input) => {
        const { requestedTtl, period, explicitMaxTtl, mount, issuedAt } = input;
        fc.pre(requestedTtl > 0 && period === 0 && explicitMaxTtl === 0);
        fc.pre(now + requestedTtl * 1000 <= issuedAt + mount.maxSeconds * 1000);
        expect(grantTtl(input)).toEqual({
          ok: true,
          value: { ttl: requestedTtl, expiresAt: now + requestedTtl * 1000, warnings: [] },
        });
      }),
      { numRuns: 2000 },
    );
  });
});
