import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { globMatches } from "../../../../src/token/rules/glob.ts";

describe("glob", () => {
  it.each<[string, string, boolean]>([
    ["*", "", true],
    ["*", "anything", true],
    ["test", "test", true],
    ["test", "test1", false],
    ["test*", "test", true],
    ["test*", "footest", false],
    ["*-web", "db-web", true],
    ["*-web", "db-web2", false],
    ["web-*-web", "web-x-web", true],
    ["web-*-web", "web-web", false],
    ["a*b*c", "aXbYc", true],
    ["a*b*c", "acb", false],
    ["ab*ba", "aba", false],
    ["a**b", "ab", true],
    ["a.c", "abc", false],
  ])("%s against %s is %s", (glob, text, expected) => {
    expect(globMatches(glob, text)).toBe(expected);
  });

  it("agrees with the same pattern as a regular expression", () => {
    const word = fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 8 }).map((parts) => parts.join(""));
    const text = fc.array(fc.constantFrom("a", "b"), { maxLength: 10 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(word, text, (glob, name) => {
        expect(globMatches(glob, name)).toBe(new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(name));
      }),
      { numRuns: 2000 },
    );
  });
});
