import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  audienceProblem,
  boundClaimProblem,
  claimAt,
  groupsClaimOf,
  mappedText,
  readBoundClaims,
} from "../../../../src/methods/jwt/claims.ts";

const CLAIMS = {
  sub: "repo:acme/web:ref:refs/heads/main",
  "kubernetes.io": { namespace: "web", serviceaccount: { name: "api" } },
  roles: ["a", "b"],
  number: 1,
  bool: true,
  "a/b": "slash",
  nothing: null,
};

describe("a claim", () => {
  it.each([
    ["sub", CLAIMS.sub],
    ["kubernetes.io", CLAIMS["kubernetes.io"]],
    ["/kubernetes.io/serviceaccount/name", "api"],
    ["/roles/1", "b"],
    ["/a~1b", "slash"],
    ["a/b", "slash"],
    ["/roles/2", undefined],
    ["/roles/-1", undefined],
    ["/sub/length", undefined],
    ["/__proto__/toString", undefined],
    ["toString", undefined],
    ["__proto__", undefined],
    ["constructor", undefined],
  ])("%s is found by name or by pointer, and only where the token has it", (name, value) => {
    expect(claimAt(CLAIMS, name)).toEqual(value);
  });
});

describe("audiences", () => {
  it.each([
    [{ aud: "a" }, ["a"], true],
    [{ aud: ["x", "a"] }, ["a", "b"], true],
    [{}, [], true],
    [{ aud: "b" }, ["a"], false],
    [{}, ["a"], false],
    [{ aud: [] }, ["a"], false],
    // CVE-2024-5798: a single string is an audience like a list of one.
    [{ aud: "a" }, [], false],
    [{ aud: ["a"] }, [], false],
    [{ aud: { a: 1 } }, ["a"], false],
    [{ aud: [1] }, ["1"], false],
  ])("%j with the bound ones %j", (claims, bound, accepted) => {
    expect(audienceProblem(claims, bound) === null).toBe(accepted);
  });
});

describe("bound claims", () => {
  const problem = (bound: Record<string, unknown>, type: "string" | "glob" = "string") => {
    const read = readBoundClaims(bound, type);
    if (!read) return "not bindable";
    const problems = Object.entries(read).map(([name, expected]) => boundClaimProblem(CLAIMS, name, expected, type));
    return problems.find((one) => one !== null) ?? null;
  };

  it.each([
    [{ sub: CLAIMS.sub }, null],
    [{ roles: "b" }, null],
    [{ roles: ["x", "a"] }, null],
    [{ number: 1 }, null],
    [{ bool: true }, null],
    [{ "/kubernetes.io/namespace": "web", roles: "a" }, null],
    [{ sub: "other" }, 'claim "sub" does not match any associated bound claim values'],
    [{ absent: "x" }, 'claim "absent" is missing'],
    [{ nothing: "x" }, 'claim "nothing" is missing'],
    [{ "kubernetes.io": "x" }, 'claim "kubernetes.io" is not a string, bool, number or list'],
    [{ roles: [] }, 'claim "roles" does not match any associated bound claim values'],
    [{ toString: "x" }, 'claim "toString" is missing'],
  ])("%j are compared with the claims of a token", (bound, expected) => {
    expect(problem(bound)).toBe(expected);
  });

  it("are compared with their types: a number is no string, and 1.9 is not 1", () => {
    for (const bound of [{ number: "1" }, { number: 1.9 }, { number: true }, { bool: "true" }, { bool: 1 }]) {
      expect(problem(bound)).not.toBeNull();
    }
  });

  it.each([
    ["*", true],
    ["repo:acme/*", true],
    ["repo:*:ref:refs/heads/*", true],
    ["*main", true],
    ["repo:acme/*main", true],
    ["repo:acme/web:ref:refs/heads/main", true],
    ["repo:acme*acme*", false],
    ["repo:other/*", false],
    ["repo", false],
    ["repo:acme/web:ref:refs/heads/main*x", false],
    ["repo:acme/web:ref:refs/heads/mai?", false],
    ["*mainmain", false],
  ])("as globs: %s", (glob, accepted) => {
    expect(problem({ sub: glob }, "glob") === null).toBe(accepted);
  });

  it("as globs match texts only: no number and no bool", () => {
    expect([problem({ number: "*" }, "glob"), problem({ bool: "t*" }, "glob")]).not.toContain(null);
  });

  it("as globs agree with a regular expression of the same meaning", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    fc.assert(
      fc.property(letters, fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 }), (pattern, value) => {
        const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(value);
        expect(boundClaimProblem({ c: value }, "c", pattern, "glob") === null).toBe(expected);
      }),
    );
  });

  it("must be scalars, and strings where they are globs", () => {
    expect(readBoundClaims({ a: { b: 1 } }, "string")).toBeNull();
    expect(readBoundClaims({ a: null }, "string")).toBeNull();
    expect(readBoundClaims({ a: 1 }, "glob")).toBeNull();
    expect(readBoundClaims({ a: ["x", 1] }, "string")).toEqual({ a: ["x", 1] });
  });
});

describe("metadata and groups", () => {
  it("copies strings, leaves out what is missing, and refuses what is no string", () => {
    expect(mappedText(CLAIMS, "/kubernetes.io/namespace")).toEqual({ ok: true, value: "web" });
    expect(mappedText(CLAIMS, "absent")).toEqual({ ok: true, value: null });
    expect(mappedText(CLAIMS, "roles").ok).toBe(false);
  });

  it("reads groups from a list or a single string", () => {
    expect(groupsClaimOf(CLAIMS, "roles")).toEqual({ ok: true, value: ["a", "b"] });
    expect(groupsClaimOf({ g: "one" }, "g")).toEqual({ ok: true, value: ["one"] });
    expect(groupsClaimOf({ g: ["", "x"] }, "g")).toEqual({ ok: true, value: ["x"] });
    // Issuers omit the claim for a client without groups.
    for (const claims of [{}, { g: null }, { g: [] }])
      expect(groupsClaimOf(claims, "g")).toEqual({ ok: true, value: [] });
    for (const claims of [{ g: 1 }, { g: [1] }, { g: {} }]) expect(groupsClaimOf(claims, "g").ok).toBe(false);
  });
});
