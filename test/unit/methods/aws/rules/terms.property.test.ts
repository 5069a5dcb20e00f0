import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_TOKEN_SETTINGS } from "../../../../../src/auth/token-settings.ts";
import type { CloudRole } from "../../../../../src/methods/aws/rules/role.ts";
import {
  cloudRoleTerms,
  memorySeconds,
  narrowByTag,
  renewalTerms,
  untagged,
} from "../../../../../src/methods/aws/rules/role-grant.ts";
import type { RoleTag } from "../../../../../src/methods/aws/rules/role-tag.ts";

const NAMES = ["a", "b", "c", "d"];
const seconds = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5000 }));
const policies = fc.subarray(NAMES);

const role = fc.record({ policies, maxTtl: seconds, ttl: seconds, migrate: fc.boolean(), once: fc.boolean() }).map(
  ({ policies: names, maxTtl, ttl, migrate, once }): CloudRole => ({
    roleId: "id",
    sealedTagKey: "",
    authType: "vm",
    bounds: {},
    principalIds: [],
    resolveUniqueIds: true,
    inferredEntityType: "",
    inferredRegion: "",
    roleTag: "Tag",
    allowInstanceMigration: migrate,
    disallowReauthentication: once,
    token: { ...DEFAULT_TOKEN_SETTINGS, policies: names, maxTtl, ttl },
  }),
);

const tag = fc
  .record({ policies: fc.option(policies), maxTtlSeconds: seconds, migrate: fc.boolean(), once: fc.boolean() })
  .map(
    ({ policies: names, maxTtlSeconds, migrate, once }): RoleTag => ({
      nonce: "",
      role: "web",
      policies: names,
      maxTtlSeconds,
      instanceId: null,
      allowInstanceMigration: migrate,
      disallowReauthentication: once,
    }),
  );

/** A lifetime limit of which 0 is none. */
const limit = (value: number) => value || Number.POSITIVE_INFINITY;

describe("a role tag", () => {
  it("never adds to what its role gives", () => {
    fc.assert(
      fc.property(role, tag, (whole, restricting) => {
        const narrowed = narrowByTag(whole, restricting, { role: "web", instanceId: "i-1" });
        const beyond = (restricting.policies ?? []).some((name) => !whole.token.policies.includes(name));
        expect(narrowed.ok).toBe(!beyond);
        if (!narrowed.ok) return;
        const full = untagged(whole);
        const grant = narrowed.value;
        expect(full.policies).toEqual(expect.arrayContaining([...grant.policies]));
        expect(grant.policies).toEqual(restricting.policies ?? full.policies);
        expect(Number(grant.allowMigration)).toBeLessThanOrEqual(Number(full.allowMigration));
        expect(Number(grant.disallowReauthentication)).toBeGreaterThanOrEqual(Number(full.disallowReauthentication));
        for (const terms of [cloudRoleTerms(whole, grant, []), renewalTerms(whole, grant.tagMaxTtl, 0)]) {
          expect(limit(terms.maxTtl)).toBe(Math.min(limit(whole.token.maxTtl), limit(restricting.maxTtlSeconds)));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the type of a token", () => {
  it.each([
    ["default", "default"],
    ["service", "service"],
    ["default-service", "service"],
    ["batch", "batch"],
    ["default-batch", "batch"],
  ] as const)("of a role that says %s is %s", (type, expected) => {
    const [sample] = fc.sample(role, { numRuns: 1 });
    if (!sample) throw new Error("a role was made");
    const typed = { ...sample, token: { ...sample.token, type } };
    expect(cloudRoleTerms(typed, untagged(typed), []).tokenType).toBe(expected);
  });
});

it("an instance is remembered for the longest limit of the role, the tag and the mount", () => {
  fc.assert(
    fc.property(role, seconds, seconds, (limits, tagMaxTtl, maxSeconds) => {
      const memory = memorySeconds(limits, tagMaxTtl, { defaultSeconds: 1, maxSeconds });
      expect(memory).toBe(Math.max(limits.token.maxTtl, tagMaxTtl, maxSeconds));
    }),
  );
});
