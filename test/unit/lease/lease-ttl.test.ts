import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leasePathProblem } from "../../../src/lease/lease-path.ts";
import { planLease, planLeaseRenewal } from "../../../src/lease/lease-ttl.ts";

const NOW = Date.UTC(2027, 2, 1);
const REQUEST = { path: "db/creds/app", ttl: 0, maxTtl: 0, renewable: true, target: "https://db.example.com/" };

function granted(request: Partial<typeof REQUEST> = {}, endsBy: number | null = null) {
  const plan = planLease({ ...REQUEST, ...request }, endsBy, NOW);
  if (!plan.ok) throw new Error(JSON.stringify(plan.error));
  return plan.value;
}

describe("the path of a lease", () => {
  it("names an engine and stays below it", () => {
    for (const path of ["db", "db/creds/app", "team-a/db.prod/creds/r:1@x~y"]) {
      expect(leasePathProblem(path), path).toBeNull();
    }
    expect(leasePathProblem("db/../auth/token")).toBe("path cannot contain parent references");
    for (const path of ["", "/db", "db/", "db//x", "db/./x", "db/a b", "db/*", "db/+", "db/%2e", "a?b", "dü", "a\n"]) {
      expect(leasePathProblem(path), JSON.stringify(path)).not.toBeNull();
    }
    for (const path of ["auth/token/create", "auth", "sys/x", "cubbyhole/x", "identity/x"]) {
      expect(leasePathProblem(path), path).toBe("path must begin with the name of the engine");
    }
    expect(leasePathProblem("a".repeat(512))).toBeNull();
    expect(leasePathProblem("a".repeat(513))).toBe("the path is too long");
    expect(leasePathProblem(`${"a/".repeat(15)}a`)).toBeNull();
    expect(leasePathProblem(`${"a/".repeat(16)}a`)).toBe("the path is too long");
  });
});

describe("the lifetime of a lease", () => {
  it("is the system's unless asked for, and never above the maximum", () => {
    expect(granted().grant).toMatchObject({ ttl: 2_764_800, expiresAt: NOW + 2_764_800_000 });
    expect(granted({ ttl: 60 }).grant.ttl).toBe(60);
    expect(granted({ ttl: 60, maxTtl: 50 }).grant).toMatchObject({ ttl: 50, warnings: [expect.any(String)] });
    expect(granted({ ttl: 9_000_000_000 }).grant.ttl).toBe(2_764_800);
    expect(planLease({ ...REQUEST, ttl: -1 }, null, NOW)).toMatchObject({ error: { message: "ttl must be positive" } });
    expect(planLease({ ...REQUEST, maxTtl: -1 }, null, NOW)).toMatchObject({
      error: { message: "max_ttl must be positive" },
    });
  });

  it("ends with a batch token that holds it, and shrinks with each renewal", () => {
    const plan = granted({ ttl: 600 }, NOW + 100_500);
    expect(plan.grant).toMatchObject({ ttl: 101, expiresAt: NOW + 100_500 });
    const lease = { ...plan.record, grantedTtl: 101, expiresAt: NOW + 100_500 };
    for (const [after, ttl] of [
      [10, 91],
      [60, 41],
      [100, 1],
    ] as const) {
      const renewed = planLeaseRenewal(lease, 600, NOW + after * 1000);
      expect(renewed).toMatchObject({ value: { ttl, expiresAt: NOW + 100_500 } });
    }
    expect(planLeaseRenewal(lease, 600, NOW + 100_500)).toMatchObject({ error: { message: "lease expired" } });
    expect(planLease(REQUEST, NOW, NOW)).toMatchObject({
      error: { message: "the token that would hold the lease has ended" },
    });
  });

  it("is not extended when the lease is not renewable or its maximum has passed", () => {
    const fixed = { ...granted({ ttl: 60, renewable: false }).record, grantedTtl: 60, expiresAt: NOW + 60_000 };
    expect(planLeaseRenewal(fixed, 10, NOW)).toMatchObject({ error: { message: "lease is not renewable" } });
    const capped = { ...granted({ ttl: 60, maxTtl: 60 }).record, grantedTtl: 60, expiresAt: NOW + 90_000 };
    expect(planLeaseRenewal(capped, 10, NOW + 60_000)).toMatchObject({
      error: { message: "past the max TTL, cannot renew" },
    });
  });

  it("never turns into one without an end, whenever and however often it is renewed", () => {
    const seconds = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(
        seconds,
        seconds,
        fc.array(fc.tuple(seconds, fc.nat(100_000_000)), { maxLength: 8 }),
        (ttl, maxTtl, renewals) => {
          const plan = granted({ ttl, maxTtl });
          const end = NOW + (maxTtl || 2_764_800) * 1000;
          const lease = { ...plan.record, grantedTtl: plan.grant.ttl, expiresAt: plan.grant.expiresAt };
          let now = NOW;
          for (const [after, increment] of renewals) {
            now += after;
            const renewed = planLeaseRenewal(lease, increment, now);
            if (!renewed.ok) continue;
            expect(renewed.value.expiresAt).toBeGreaterThan(now);
            expect(renewed.value.expiresAt).toBeLessThanOrEqual(end);
            expect(renewed.value.ttl).toBeGreaterThan(0);
            lease.grantedTtl = renewed.value.ttl;
            lease.expiresAt = renewed.value.expiresAt;
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
