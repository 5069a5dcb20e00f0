import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokenRole } from "../../../../src/token/role.ts";
import { newRole } from "../../../../src/token/roles/change-role.ts";
import { choosePolicies, type PolicyChoice } from "../../../../src/token/rules/policies.ts";

/*
 * What may be granted, written as a statement about one name of the result, without looking at how the choice is made.
 */

const name = fc.constantFrom("default", "a", "ab", "b", "root", "response-wrapping");
const spelled = fc.oneof(name, fc.constantFrom(" A ", "AB", "Root", "", "DEFAULT"));
const glob = fc.constantFrom("a*", "*b", "*", "root", "def*", "r*t", "a");
const names = fc.uniqueArray(name, { maxLength: 3 }).map((list) => list.sort());
const globs = fc.uniqueArray(glob, { maxLength: 2 }).map((list) => list.sort());

const anyRole: fc.Arbitrary<TokenRole> = fc
  .record({
    allowedPolicies: names,
    disallowedPolicies: names,
    allowedPoliciesGlob: globs,
    disallowedPoliciesGlob: globs,
    tokenNoDefaultPolicy: fc.boolean(),
  })
  .map((lists) => ({ ...newRole("test"), ...lists }));

const anyChoice: fc.Arbitrary<PolicyChoice> = fc.record({
  requested: fc.option(fc.array(spelled, { minLength: 1, maxLength: 3 })),
  noDefaultPolicy: fc.boolean(),
  callerPolicies: names.map((list) => (list.includes("root") ? ["root"] : list)),
  sudo: fc.boolean(),
  role: fc.option(anyRole),
});

const like = (pattern: string, text: string) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(text);

function mayHave(granted: string, { requested, noDefaultPolicy, callerPolicies, sudo, role }: PolicyChoice): boolean {
  if (granted === "response-wrapping") return false;
  if (granted === "default" && noDefaultPolicy) return false;
  const asked = (requested ?? []).map((item) => item.trim().toLowerCase()).includes(granted);
  if (granted === "default" && role?.tokenNoDefaultPolicy) {
    if (requested === null ? !role.allowedPolicies.includes("default") : !asked) return false;
  }
  const allow = role ? [...role.allowedPolicies, ...role.allowedPoliciesGlob] : [];
  const refuse = role ? [...role.disallowedPolicies, ...role.disallowedPoliciesGlob] : [];
  if (role && (allow.length > 0 || refuse.length > 0)) {
    if (role.disallowedPolicies.includes(granted)) return false;
    if (role.disallowedPoliciesGlob.some((pattern) => like(pattern, granted))) return false;
    if (granted === "default" && !role.tokenNoDefaultPolicy) return true;
    if (allow.length === 0) return asked || (requested === null && callerPolicies.includes(granted));
    if (requested === null) return role.allowedPolicies.includes(granted);
    return (
      asked &&
      (role.allowedPolicies.includes(granted) || role.allowedPoliciesGlob.some((pattern) => like(pattern, granted)))
    );
  }
  if (requested === null) return callerPolicies.includes(granted);
  if (sudo) return asked || granted === "default";
  return callerPolicies.includes(granted) && (asked || granted === "default");
}

describe("the choice of policies", () => {
  it("grants nothing that the rules do not give", () => {
    let granted = 0;
    fc.assert(
      fc.property(anyChoice, (choice) => {
        const result = choosePolicies(choice);
        if (!result.ok) return;
        granted += result.value.length;
        for (const policy of result.value) {
          expect(mayHave(policy, choice), `${policy} for ${JSON.stringify(choice)}`).toBe(true);
        }
        expect(result.value).toEqual([...new Set(result.value)].sort());
      }),
      { numRuns: 20_000 },
    );
    expect(granted).toBeGreaterThan(5000);
  });
});
