import { describe, expect, it } from "vitest";
import type { TokenRole } from "../../../../src/token/role.ts";
import { newRole } from "../../../../src/token/roles/change-role.ts";
import { choosePolicies, type PolicyChoice } from "../../../../src/token/rules/policies.ts";

type Case = Partial<Omit<PolicyChoice, "role">> & { role?: Partial<TokenRole> };

/** The chosen names, or the text of the refusal. */
function choose({ role, ...choice }: Case): readonly string[] | string {
  const result = choosePolicies({
    requested: null,
    noDefaultPolicy: false,
    callerPolicies: ["default", "test1", "test2", "test3"],
    sudo: false,
    role: role ? { ...newRole("test"), ...role } : null,
    ...choice,
  });
  return result.ok ? result.value : result.error;
}

const disallowed = (name: string) => `token policy ${JSON.stringify(name)} is disallowed by this role`;
const NOT_SUBSET = "child policies must be subset of parent";

describe("without the lists of a role", () => {
  it.each<[string, Case, readonly string[] | string]>([
    ["root that asks for nothing gets root", { callerPolicies: ["root"], sudo: true }, ["root"]],
    ["a subset of the caller's policies is given", { requested: ["test1"] }, ["default", "test1"]],
    ["more than the caller has is refused", { requested: ["test1", "test4"] }, NOT_SUBSET],
    [
      "the policy of response wrapping can't be assigned",
      { requested: ["response-wrapping"], sudo: true },
      'cannot assign policy "response-wrapping"',
    ],
    [
      "a caller with sudo gets default besides what it asks for",
      { requested: ["policy1"], sudo: true },
      ["default", "policy1"],
    ],
    [
      "a caller with sudo gets no default when it wants none",
      { requested: ["policy1"], sudo: true, noDefaultPolicy: true },
      ["policy1"],
    ],
    [
      "a child gets the caller's policies when nothing is asked",
      { callerPolicies: ["default", "policy1"] },
      ["default", "policy1"],
    ],
    [
      "a child gets the caller's policies without default when it wants none",
      { callerPolicies: ["default", "policy1"], noDefaultPolicy: true },
      ["policy1"],
    ],
    ["a caller without default adds none", { callerPolicies: ["policy1"] }, ["policy1"]],
    [
      "a caller without default adds none to what it asks for",
      { callerPolicies: ["policy1"], requested: ["policy1"] },
      ["policy1"],
    ],
    ["the caller has no default and asks for it", { callerPolicies: ["p"], requested: ["default"] }, NOT_SUBSET],
    ["a plain role keeps the subset rule", { role: {}, requested: ["test4"] }, NOT_SUBSET],
    ["a plain role adds no default", { role: {}, callerPolicies: ["policy1"] }, ["policy1"]],
    [
      "a plain role without default adds none to what is asked for",
      { role: { tokenNoDefaultPolicy: true }, requested: ["test1"] },
      ["test1"],
    ],
    [
      "a plain role without default adds none for a caller with sudo",
      { role: { tokenNoDefaultPolicy: true }, requested: ["policy1"], sudo: true },
      ["policy1"],
    ],
    [
      "a plain role without default does not pass on the caller's",
      { role: { tokenNoDefaultPolicy: true }, callerPolicies: ["default", "policy1"] },
      ["policy1"],
    ],
    [
      "a plain role without default leaves the one that is asked for",
      { role: { tokenNoDefaultPolicy: true }, requested: [" Default ", "test1"] },
      ["default", "test1"],
    ],
    ["default is removed even when asked for", { requested: ["default", "test1"], noDefaultPolicy: true }, ["test1"]],
    ["names are normalised", { requested: [" Test1 ", "TEST1", ""] }, ["default", "test1"]],
    ["root swallows the others", { requested: ["x", "Root"], sudo: true }, ["root"]],
  ])("%s", (_, input, expected) => {
    expect(choose(input)).toEqual(expected);
  });
});

describe("with the lists of a role", () => {
  const lists = (names: readonly string[], permitted: readonly string[], globs: readonly string[] = []) => {
    const quote = (list: readonly string[]) => `[${list.map((name) => JSON.stringify(name)).join(" ")}]`;
    return `token policies (${quote(names)}) must be subset of the role's allowed policies (${quote(permitted)}) or glob policies (${quote(globs)})`;
  };

  it.each<[string, Case, readonly string[] | string]>([
    ["default is added to the allowed ones", { role: { allowedPolicies: ["test1"] } }, ["default", "test1"]],
    ["not when it is disallowed", { role: { allowedPolicies: ["test1"], disallowedPolicies: ["default"] } }, ["test1"]],
    [
      "not when only disallowed, with a request",
      { role: { disallowedPolicies: ["default"] }, requested: ["test1"] },
      ["test1"],
    ],
    ["not when the role wants none", { role: { allowedPolicies: ["test1"], tokenNoDefaultPolicy: true } }, ["test1"]],
    ["not when the caller wants none", { role: { allowedPolicies: ["test1"] }, noDefaultPolicy: true }, ["test1"]],
    [
      "default is not allowed by itself to a caller that wants none, but names it",
      { role: { allowedPolicies: ["test1"] }, noDefaultPolicy: true, requested: ["default"] },
      lists(["default"], ["test1"]),
    ],
    [
      "default is not allowed by itself where the role wants none",
      { role: { allowedPolicies: ["test1"], tokenNoDefaultPolicy: true }, requested: ["default"] },
      lists(["default"], ["test1"]),
    ],
    [
      "not when a glob disallows it",
      { role: { allowedPolicies: ["test1"], disallowedPoliciesGlob: ["def*"] } },
      ["test1"],
    ],
    [
      "default is refused where a role both allows and disallows it",
      { role: { allowedPolicies: ["default", "test1"], disallowedPolicies: ["default"] } },
      disallowed("default"),
    ],
    ["a disallowed policy is not inherited", { role: { disallowedPolicies: ["test1"] } }, disallowed("test1")],
    [
      "policies that are not disallowed are given, although the caller has them not",
      { role: { disallowedPolicies: ["test1"] }, requested: ["foo", "bar"] },
      ["bar", "default", "foo"],
    ],
    [
      "a star in a plain list is a letter",
      { role: { disallowedPolicies: ["test*"] }, requested: ["test1"] },
      ["default", "test1"],
    ],
    [
      "a star in a plain list matches a star",
      { role: { disallowedPolicies: ["test*"] }, requested: ["test*"] },
      disallowed("test*"),
    ],
    ["default can be disallowed by name", { role: { disallowedPolicies: ["default"] } }, disallowed("default")],
    ["default can be disallowed by a glob", { role: { disallowedPoliciesGlob: ["defau*"] } }, disallowed("default")],
    [
      "a disallowed glob refuses what it matches",
      { role: { disallowedPoliciesGlob: ["test3*"] }, requested: ["test3b"] },
      disallowed("test3b"),
    ],
    [
      "a disallowed glob matches its own prefix",
      { role: { disallowedPoliciesGlob: ["test3*"] }, requested: ["test3"] },
      disallowed("test3"),
    ],
    [
      "a disallowed glob leaves other names alone",
      { role: { disallowedPoliciesGlob: ["test3*"] }, requested: ["test1"] },
      ["default", "test1"],
    ],
    [
      "a name outside of the allowed list is refused",
      { role: { allowedPolicies: ["test1", "test2"] }, requested: ["foo"] },
      lists(["default", "foo"], ["default", "test1", "test2"]),
    ],
    [
      "a name of the allowed list is given, although the caller has it not",
      { role: { allowedPolicies: ["test1", "test9"] }, requested: ["test9"] },
      ["default", "test9"],
    ],
    [
      "all of the allowed list is given when nothing is asked",
      { role: { allowedPolicies: ["test1", "test2", "test3"] } },
      ["default", "test1", "test2", "test3"],
    ],
    [
      "a glob list without a star is literal",
      { role: { allowedPoliciesGlob: ["test1", "test2"] }, requested: ["test12"] },
      lists(["default", "test12"], ["default"], ["test1", "test2"]),
    ],
    ["testfoo", { role: { allowedPoliciesGlob: ["test*"] }, requested: ["testfoo"] }, ["default", "testfoo"]],
    ["test", { role: { allowedPoliciesGlob: ["test*"] }, requested: ["test"] }, ["default", "test"]],
    [
      "footest",
      { role: { allowedPoliciesGlob: ["test*"] }, requested: ["footest"] },
      lists(["default", "footest"], ["default"], ["test*"]),
    ],
    ["a glob gives nothing by itself", { role: { allowedPoliciesGlob: ["test*"] } }, ["default"]],
    [
      "allowed",
      { role: { allowedPolicies: ["allowed1"], disallowedPolicies: ["disallowed1"] }, requested: ["allowed1"] },
      ["allowed1", "default"],
    ],
    [
      "disallowed",
      { role: { disallowedPolicies: ["disallowed1"] }, requested: ["disallowed1"] },
      disallowed("disallowed1"),
    ],
    [
      "in both",
      { role: { allowedPolicies: ["both"], disallowedPolicies: ["both"] }, requested: ["both"] },
      disallowed("both"),
    ],
    [
      "the policy of wrapping can't be allowed",
      { role: { allowedPoliciesGlob: ["*"] }, requested: ["response-wrapping"] },
      'cannot assign policy "response-wrapping"',
    ],
  ])("%s", (_, input, expected) => {
    expect(choose(input)).toEqual(expected);
  });
});
