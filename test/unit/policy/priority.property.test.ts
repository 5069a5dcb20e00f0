import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PrefixIndex } from "../../../src/base/prefix-index.ts";
import { compileAcl } from "../../../src/policy/acl.ts";
import { CAPABILITIES, type Capability, type PathRule } from "../../../src/policy/rule.ts";
import { NOW } from "./helpers.ts";

/*
 * A second matcher, written from the rules of choice and nothing else: try every rule on the path, sort those that
 * match, take the first. It shares no code with the engine.
 */

function isExact(rule: string): boolean {
  return !rule.endsWith("*") && !rule.split("/").includes("+");
}

function matches(rule: string, path: string): boolean {
  const open = rule.endsWith("*");
  const wanted = (open ? rule.slice(0, -1) : rule).split("/");
  const actual = path.split("/");
  if (!open && wanted.length !== actual.length) return false;
  for (let i = 0; i < wanted.length; i++) {
    const segment = actual[i];
    if (segment === undefined) return false;
    const last = open && i === wanted.length - 1;
    if (last ? !segment.startsWith(wanted[i] ?? "") : wanted[i] !== "+" && wanted[i] !== segment) return false;
  }
  return true;
}

/** Larger is better, compared from left to right. */
function rank(rule: string): (number | string)[] {
  const open = rule.endsWith("*");
  const text = open ? rule.slice(0, -1) : rule;
  const count = text.split("/").filter((segment) => segment === "+").length;
  const position = count === 0 ? text.length : text.indexOf("+");
  return [position, open ? 0 : 1, -count, text.length, text];
}

function better(a: string, b: string): number {
  const other = rank(b);
  for (const [i, mine] of rank(a).entries()) {
    const theirs = other[i] ?? 0;
    if (mine !== theirs) return mine > theirs ? -1 : 1;
  }
  return 0;
}

function chooseRule(given: readonly PathRule[], path: string, listing: boolean): string | undefined {
  const rules = given.map((rule) => rule.path);
  const bestPattern = (wanted: string) =>
    rules.filter((rule) => !isExact(rule) && matches(rule, wanted)).sort(better)[0];
  const exact = (wanted: string) => rules.find((rule) => isExact(rule) && rule === wanted);
  if (!listing || !path.endsWith("/")) return exact(path) ?? bestPattern(path);
  const bare = path.slice(0, -1);
  const below = bestPattern(path);
  const itself = bestPattern(bare);
  const isDenied = given.some((rule) => rule.path === itself && rule.capabilities.includes("deny"));
  const evaded = isDenied && itself !== undefined && below !== undefined && better(itself, below) < 0;
  return exact(path) ?? exact(bare) ?? (evaded ? itself : (below ?? itself));
}

function union(rules: readonly PathRule[], path: string | undefined): string[] {
  const given = rules.filter((rule) => rule.path === path).flatMap((rule) => rule.capabilities);
  if (given.includes("deny") || given.length === 0) return ["deny"];
  return [...new Set(given)].sort();
}

const SEGMENTS = ["", "a", "b", "ab", "abc", "a+", "+a", "(", "a*b"];
const segment = fc.constantFrom(...SEGMENTS);
const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join("/"));
const rulePath = fc
  .tuple(
    fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant("+") }, { weight: 3, arbitrary: segment }), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.boolean(),
  )
  .map(([segments, open]) => segments.join("/") + (open ? "*" : ""))
  .filter((written) => !written.includes("+*"));
const capabilities = fc.subarray<Capability>([...CAPABILITIES], { maxLength: 3 });
const rules = fc.array(fc.record({ path: rulePath, capabilities }), { minLength: 1, maxLength: 25 });

const noSlashFirst = (text: string) => text.replace(/^\/+/, "");

describe("the deciding rule is the one that the slow matcher picks", () => {
  test("for every operation that looks at the exact path", () => {
    let decided = 0;
    fc.assert(
      fc.property(rules, fc.array(path, { minLength: 5, maxLength: 5 }), (given, paths) => {
        const acl = compileAcl([{ name: "p", rules: given }], { now: NOW });
        for (const wanted of paths.map(noSlashFirst)) {
          const chosen = chooseRule(given, wanted, false);
          const expected = union(given, chosen);
          const granted = ["create", "delete", "patch", "read", "update"] as const;
          expect(granted.filter((operation) => acl.check({ operation, path: wanted }, NOW).allowed)).toEqual(
            granted.filter((operation) => expected.includes(operation)),
          );
          expect(acl.check({ operation: "read", path: wanted }, NOW).sudo).toBe(expected.includes("sudo"));
          if (chosen !== undefined) decided++;
        }
      }),
      { numRuns: 1500 },
    );
    expect(decided).toBeGreaterThan(2000);
  });

  test("for listings and capabilities, which fall back to the path without its slash", () => {
    fc.assert(
      fc.property(rules, fc.array(path, { minLength: 5, maxLength: 5 }), (given, paths) => {
        const acl = compileAcl([{ name: "p", rules: given }], { now: NOW });
        for (const wanted of paths.map(noSlashFirst)) {
          const expected = union(given, chooseRule(given, wanted, true));
          expect(acl.capabilities(wanted, NOW)).toEqual(expected);
          for (const operation of ["list", "scan"] as const) {
            expect(acl.check({ operation, path: wanted }, NOW).allowed).toBe(expected.includes(operation));
          }
        }
      }),
      { numRuns: 1500 },
    );
  });

  test("however the rules are spread over policies and ordered", () => {
    fc.assert(
      fc.property(rules, fc.nat(), path, (given, pivot, wanted) => {
        const cut = pivot % given.length;
        const spread = [given.slice(cut), given.slice(0, cut)].map((part, i) => ({ name: `p${i}`, rules: part }));
        const one = compileAcl([{ name: "p", rules: given }], { now: NOW });
        expect(compileAcl(spread, { now: NOW }).capabilities(wanted, NOW)).toEqual(one.capabilities(wanted, NOW));
      }),
      { numRuns: 500 },
    );
  });
});

test("the prefix index finds the longest prefix, as trying all of them does", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "é", "\ud83d\ude00"), maxLength: 6 });
  fc.assert(
    fc.property(fc.uniqueArray(word, { maxLength: 20 }), word, (prefixes, text) => {
      const index = new PrefixIndex(new Map(prefixes.map((prefix) => [prefix, prefix])));
      const found = prefixes.filter((prefix) => text.startsWith(prefix)).sort((a, b) => b.length - a.length)[0];
      expect(index.longest(text)).toBe(found);
    }),
    { numRuns: 2000 },
  );
});
