import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MAX_POLICY_NAME_LENGTH,
  namesRoot,
  normalizePolicyName,
  normalizePolicyNames,
  policyNameProblem,
} from "../../../src/policy/policy-names.ts";

const DISGUISED_ROOTS = ["root", "rooT", "Root", "rOoT", "root ", " root", "\troot\n", "\u00a0ROOT\ufeff"];

describe("one spelling", () => {
  test.each([
    ["Foo", "foo"],
    ["  DEV-ops ", "dev-ops"],
    ["a/B/c", "a/b/c"],
    ["a,B", "a,b"],
    [" \n", ""],
  ])("%j is %j", (written, name) => {
    expect(normalizePolicyName(written)).toBe(name);
  });

  test("a second time changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const once = normalizePolicyName(text);
        expect(normalizePolicyName(once)).toBe(once);
      }),
    );
  });
});

describe("a list of names", () => {
  test.each([
    [
      ["b", "A", " a", "", "  ", "B"],
      ["a", "b"],
    ],
    [
      ["default", "App"],
      ["app", "default"],
    ],
    [["a,b"], ["a,b"]],
    [[], []],
  ])("%j is %j", (written, names) => {
    expect(normalizePolicyNames(written)).toEqual(names);
  });

  test("does not change the list that it gets", () => {
    const written = ["b", "a"];
    normalizePolicyNames(written);
    expect(written).toEqual(["b", "a"]);
  });
});

describe("CVE-2025-54996, CVE-2025-64761, CVE-2024-9180 root in disguise", () => {
  test.each(DISGUISED_ROOTS)("%j is root", (name) => {
    expect(normalizePolicyNames(["default", name, "app"])).toEqual(["root"]);
    expect(namesRoot(["default", name])).toBe(true);
  });

  test.each(["roots", "ro ot", "groot", "", "r\u200boot"])("%j is not", (name) => {
    expect(namesRoot([name])).toBe(false);
    expect(normalizePolicyNames([name])).not.toContain("root");
  });
});

describe("names that can't be", () => {
  test.each([
    ["", "policy name must not be empty"],
    ["a".repeat(MAX_POLICY_NAME_LENGTH + 1), "policy name must not be longer than 256 characters"],
    ["a\u0000", "policy name must not contain control characters"],
    ["a\nb", "policy name must not contain control characters"],
    ["a\u007f", "policy name must not contain control characters"],
    ["r\u200boot", "policy name must not contain control characters"],
    ["a\u202eb", "policy name must not contain control characters"],
    ["a\u2028b", "policy name must not contain control characters"],
    ["a\ud800", "policy name must not contain control characters"],
  ])("%j is refused: %s", (name, problem) => {
    expect(policyNameProblem(name)).toBe(problem);
  });

  test.each(["a", "team/app", "a b", "ünï", "a..b", "a".repeat(MAX_POLICY_NAME_LENGTH), "😀"])("%j is fine", (name) => {
    expect(policyNameProblem(name)).toBeNull();
  });
});
