import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MAX_PATH_LENGTH } from "../../../src/base/limits.ts";
import { compileAcl } from "../../../src/policy/acl.ts";
import { capabilitiesOf, evaluateAcl, isDenied } from "../../../src/policy/evaluate.ts";
import { RESOURCES, spellingsOf } from "../../../src/policy/path-spellings.ts";
import { CAPABILITIES, type Capability, type PathRule } from "../../../src/policy/rule.ts";
import { RuleIndex } from "../../../src/policy/rule-index.ts";
import { NOW } from "./helpers.ts";

const WORDS = [...new Set(RESOURCES.flatMap(({ paths }) => paths.flatMap((path) => path.split(/[/*{}]/))))].filter(
  Boolean,
);
const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.constantFrom("x", "Team-a", "ΑΣ", "i-1", "+", "") },
);
const mount = fc
  .array(
    fc.constantFrom("cloud", "Cloud", "role", "roles", "tidy", "config", "identity-accesslist", "roletag-blacklist"),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((segments) => `auth/${segments.join("/")}/`);
/** Paths made of the words of the table, at a mount or not, also far longer than any path that is served. */
const anyPath = fc
  .tuple(mount, fc.boolean(), fc.array(word, { minLength: 1, maxLength: 60 }), fc.constantFrom("", "/", "//"))
  .map(([at, isAtMount, segments, end]) => ({
    mount: at,
    path: `${isAtMount ? at : ""}${segments.join("/")}${end}`.slice(0, MAX_PATH_LENGTH),
  }));
const data = fc.record(
  { lease_id: fc.constantFrom("", "db/x", 7), token: fc.constantFrom("", "s.x", null) },
  { requiredKeys: [] },
);

/** Two requests for one resource. A name that is found in any case may be in two cases. */
const sameResource = fc
  .tuple(
    // A role tag in base64 and a field of the body have tests of their own.
    fc.constantFrom(
      ...RESOURCES.filter(({ paths, field }) => !paths[0]?.endsWith("denylist/*") && field === undefined),
    ),
    mount,
    fc
      .array(fc.constantFrom(...WORDS, "Team-a", "x", "ΑΣ"), { minLength: 1, maxLength: 3 })
      .map((all) => all.join("/")),
    fc.tuple(fc.nat(1), fc.nat(1)),
    fc.func(fc.boolean()),
  )
  .map(([{ paths, anyCase }, at, text, [one, other], isUpper]) => {
    const letters = [...text].map((letter, index) => (isUpper(index) ? letter.toUpperCase() : letter.toLowerCase()));
    const path = (index: number, name: string) =>
      (paths[index % paths.length] ?? "").replace("{mount}", at).replace("*", name);
    return { mount: at, first: path(one, text), second: path(other, anyCase ? letters.join("") : text) };
  });

/** Paths of rules for one of `paths`: as it is, in another case, with segments `+`, or cut and with `*`. */
const rulePathNear = (paths: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...paths), fc.func(fc.nat(4)), fc.nat(), fc.constantFrom("", "*", "/*", "/"), fc.boolean())
    .map(([near, choice, cut, end, isWhole]) => {
      const segments = near.split("/").map((segment, index) => (choice(index) === 0 ? "+" : segment));
      const kept = isWhole ? segments.join("/") : segments.join("/").slice(0, cut % (near.length + 1));
      return (choice(kept) === 0 ? kept.replace(/[^/]+$/, (last) => last.toUpperCase()) : kept) + end;
    })
    .filter((path) => !path.includes("+*"));
const given = fc.oneof(
  { weight: 2, arbitrary: fc.constant<readonly Capability[]>(["deny"]) },
  { weight: 1, arbitrary: fc.subarray<Capability>(CAPABILITIES.filter((one) => one !== "deny")) },
);
const withRules = (capabilities: fc.Arbitrary<readonly Capability[]>) =>
  sameResource.chain((resource) =>
    fc
      .array(fc.record({ path: rulePathNear([resource.first, resource.second]), capabilities }), {
        minLength: 1,
        maxLength: 6,
      })
      .map((rules) => ({ ...resource, acl: compileAcl([{ name: "p", rules }], { now: NOW }), rules })),
  );

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the spellings of any path", () => {
  it("are six at most, and the same ones from each of them", () => {
    fc.assert(
      fc.property(anyPath, data, (asked, fields) => {
        const spellings = spellingsOf({ ...asked, data: fields });
        expect(spellings.length).toBeGreaterThan(0);
        expect(spellings.length).toBeLessThanOrEqual(6);
        const known = new Set(spellings.map(({ path }) => path));
        for (const { path } of spellings) {
          for (const other of spellingsOf({ ...asked, path, data: fields })) expect(known).toContain(other.path);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("cost a decision no more look-ups of rules for the longest path than for any other", () => {
    const find = vi.spyOn(RuleIndex.prototype, "find");
    const rules: PathRule[] = ["auth/+/+/*", "auth/cloud/role/ADMIN", "sys/auth/cloud/", "*"].map((path) => ({
      path,
      capabilities: path === "*" ? ["read"] : ["deny"],
    }));
    const acl = compileAcl([{ name: "p", rules }], { now: NOW });
    const repeated = WORDS.flatMap((one) =>
      ["auth/", "auth/cloud/", "sys/", ""].map((base) => base + `${one}/`.repeat(MAX_PATH_LENGTH)),
    );
    for (const path of repeated.map((one) => one.slice(0, MAX_PATH_LENGTH))) {
      find.mockClear();
      evaluateAcl(acl, { operation: "read", path, mount: "auth/cloud/", alternatePath: "organizations/a" }, NOW);
      expect(find.mock.calls.length).toBeLessThanOrEqual(7);
    }
  });
});

describe("two spellings of one resource", () => {
  it("are denied by the same rules, whatever they are, and neither gets what its own rules do not grant", () => {
    let denied = 0;
    fc.assert(
      fc.property(withRules(given), ({ acl, mount: at, first, second }) => {
        const [one, other] = [first, second].map((path) => ({ path, mount: at, operation: "list" as const })) as [
          Asked,
          Asked,
        ];
        const isRefused = isDenied(acl, one, NOW);
        expect(isDenied(acl, other, NOW)).toBe(isRefused);
        for (const request of [one, other]) {
          const { allowed } = evaluateAcl(acl, request, NOW);
          expect(allowed).toBe(!isRefused && acl.check(request, NOW).allowed);
          if (isRefused) expect(capabilitiesOf(acl, request, NOW)).toEqual(["deny"]);
        }
        if (isRefused) denied++;
      }),
      { numRuns: 4000 },
    );
    expect(denied).toBeGreaterThan(1000);
  });

  it("are denied where a slow matcher finds a rule for any spelling", () => {
    let denied = 0;
    fc.assert(
      fc.property(withRules(fc.constant(["deny"])), ({ acl, rules, mount: at, first, second }) => {
        const matched = slowSpellings(first, at).some((spelling) => rules.some(({ path }) => isFor(path, spelling)));
        expect(isDenied(acl, { path: second, mount: at }, NOW)).toBe(matched);
        if (matched) denied++;
      }),
      { numRuns: 4000 },
    );
    expect(denied).toBeGreaterThan(1000);
  });
});

type Asked = { readonly path: string; readonly mount: string; readonly operation: "list" };
type Slow = { readonly path: string; readonly nameAt: number };

/** Every path of a resource, by regular expressions of its templates: shares no code with the engine. */
function slowSpellings(path: string, at: string): Slow[] {
  const at0 = (index: number, text: string): Slow[] => {
    const { paths = [], includes, anyCase } = RESOURCES[index] ?? {};
    const own = paths.map((template) => {
      const [head = ""] = template.replace("{mount}", at).split("*");
      const nameAt = anyCase ? head.split("/").length - 1 : 99;
      return { path: template.replace("{mount}", at).replace("*", text), nameAt };
    });
    return includes === undefined
      ? own
      : [
          ...own,
          ...at0(
            RESOURCES.findIndex((one) => one.paths[0] === includes),
            text,
          ),
        ];
  };
  return RESOURCES.flatMap(({ paths }, index) =>
    paths.flatMap((template) => {
      const source = template.replace("{mount}", at).replace(/\/$/, "/?").replace("*", "(.+)");
      const match = new RegExp(`^${source}$`, "s").exec(path);
      return match ? at0(index, match[1] ?? "") : [];
    }),
  );
}

/** True when a rule is for a path, or for that of the list without its slash. That of a mount can end in a slash. */
function isFor(written: string, { path, nameAt }: Slow): boolean {
  const rule = written.replace(/^(sys\/(?:mounts\/)?auth\/.+)\/$/, "$1");
  const isOpen = rule.endsWith("*");
  const wanted = rule.replace(/\*$/, "").split("/");
  return [path, path.replace(/\/$/, "")].some((asked) => {
    const actual = asked.split("/");
    if (isOpen ? actual.length < wanted.length : actual.length !== wanted.length) return false;
    return wanted.every((segment, index) => {
      const [left, right = ""] = [segment, actual[index]].map((one = "") => (index < nameAt ? one : one.toUpperCase()));
      const isLast = isOpen && index === wanted.length - 1;
      return isLast ? right.startsWith(left ?? "") : segment === "+" || left === right;
    });
  });
}
