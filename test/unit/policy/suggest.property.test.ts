import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AccessRequest, compileAcl, decisiveStep, type Step } from "../../../src/policy/acl.ts";
import { evaluateAcl } from "../../../src/policy/evaluate.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { CAPABILITIES, type Capability, type PathRule } from "../../../src/policy/rule.ts";
import { suggestPolicy } from "../../../src/policy/suggest.ts";
import { NOW, rulesOf } from "./helpers.ts";

const NAMES = ["a", "b", "c"] as const;
const values = fc.array(fc.oneof(fc.constantFrom("x", "y", "x*"), fc.integer({ min: 0, max: 2 }), fc.boolean()), {
  maxLength: 2,
});
const parameters = fc
  .dictionary(fc.constantFrom(...NAMES, "*"), values, { maxKeys: 3, noNullPrototype: true })
  .map((map) => Object.entries(map).map(([name, some]) => ({ name, values: some })));
const seconds = fc.constantFrom(60, 120, 300);
const limits = fc.record(
  {
    allowedParameters: parameters,
    deniedParameters: parameters,
    requiredParameters: fc.uniqueArray(fc.constantFrom(...NAMES, "limit"), { minLength: 1, maxLength: 2 }),
    minWrappingTtlSeconds: seconds,
    maxWrappingTtlSeconds: seconds,
    paginationLimit: fc.constantFrom(1, 10),
    expiresAt: fc.constant(NOW + 1_000),
  },
  { requiredKeys: [] },
);
const segment = fc.constantFrom("kv", "a", "b");
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/"));
const rulePath = fc.oneof(
  path,
  path.map((some) => `${some}/`),
  path.map((some) => `${some}/*`),
  path.map((some) => `${some}*`),
  fc.array(fc.constantFrom("kv", "a", "+"), { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/")),
  fc.constantFrom("*", "sys/*", "sys/seal", "sys/audit/x"),
);
const granted = fc.subarray<Capability>([...CAPABILITIES].filter((one) => one !== "deny"));
const capabilities = fc.oneof(
  { weight: 6, arbitrary: granted },
  { weight: 1, arbitrary: fc.constant(["deny"] as const) },
);
const plainRule: fc.Arbitrary<PathRule> = fc.record({ path: rulePath, capabilities });
const limitedRule: fc.Arbitrary<PathRule> = fc
  .tuple(rulePath, granted, limits)
  .map(([written, given, limited]) => ({ path: written, capabilities: given, ...limited }));
const policiesOf = (rule: fc.Arbitrary<PathRule>) =>
  fc
    .array(fc.array(rule, { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((lists) => lists.map((rules, index) => ({ name: `p${index}`, rules })));
const plainPolicies = policiesOf(plainRule);
const policies = policiesOf(fc.oneof({ weight: 2, arbitrary: plainRule }, { weight: 1, arbitrary: limitedRule }));
const operations = ["read", "list", "scan", "update", "create_or_update", "patch", "delete"] as const;
const value = fc.oneof(fc.constantFrom("x", "y", "z"), fc.integer({ min: 0, max: 3 }), fc.boolean());
const request: fc.Arbitrary<AccessRequest> = fc
  .tuple(
    fc.constantFrom<Operation>(...operations),
    fc.oneof({ weight: 5, arbitrary: path }, { weight: 1, arbitrary: fc.constantFrom("sys/seal", "sys/audit/x") }),
    fc.dictionary(fc.constantFrom(...NAMES, "limit"), value, { maxKeys: 3, noNullPrototype: true }),
    fc.option(fc.constantFrom(30, 90, 200, 600), { nil: undefined, freq: 2 }),
  )
  .map(([operation, plain, data, wrapTtlSeconds]) => ({
    ...requestOf(operation, plain),
    data,
    ...(wrapTtlSeconds !== undefined && { wrapTtlSeconds }),
  }));

function requestOf(operation: Operation, plain: string): AccessRequest {
  return { operation, path: operation === "list" || operation === "scan" ? `${plain}/` : plain };
}

function bare(path: string): string {
  return path.replace(/\/$/, "");
}

const everything: PathRule = { path: "", capabilities: CAPABILITIES.filter((one) => one !== "deny") };

describe("a decision with a trace", () => {
  test("is the decision without one, and its last word is why", () => {
    fc.assert(
      fc.property(policies, request, (some, asked) => {
        const acl = compileAcl(some, { now: NOW });
        const steps: Step[] = [];
        const verdict = evaluateAcl(acl, asked, NOW, (step) => steps.push(step));
        expect(verdict).toEqual(evaluateAcl(acl, asked, NOW));
        expect(decisiveStep(steps, verdict.allowed)?.refusal === null).toBe(verdict.allowed);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a suggested policy", () => {
  test("allows the request, takes nothing away, and gives nothing on other paths or for other operations", () => {
    let suggested = 0;
    fc.assert(
      fc.property(policies, request, fc.array(request, { minLength: 10, maxLength: 10 }), (some, asked, others) => {
        const acl = compileAcl(some, { now: NOW });
        if (evaluateAcl(acl, asked, NOW).allowed) return;
        const text = suggestPolicy(acl, asked, NOW);
        if (text === null) return;
        suggested++;
        const after = acl.with({ name: "suggested", rules: rulesOf(text) });
        expect(evaluateAcl(after, asked, NOW).allowed).toBe(true);
        for (const other of others) {
          const was = evaluateAcl(acl, other, NOW).allowed;
          const is = evaluateAcl(after, other, NOW).allowed;
          if (bare(other.path) !== bare(asked.path)) expect(is).toBe(was);
          else if (was) expect(is).toBe(true);
        }
      }),
      { numRuns: 3000 },
    );
    expect(suggested).toBeGreaterThan(1000);
  });

  test("gives no other operation of the path where a capability is missing", () => {
    fc.assert(
      fc.property(
        plainPolicies,
        path,
        fc.constantFrom(...operations),
        fc.constantFrom(...operations),
        (some, at, asked, other) => {
          const acl = compileAcl(some, { now: NOW });
          const refused = requestOf(asked, at);
          if (evaluateAcl(acl, refused, NOW).allowed) return;
          const text = suggestPolicy(acl, refused, NOW);
          if (text === null || asked === other || [asked, other].includes("create_or_update")) return;
          const after = acl.with({ name: "suggested", rules: rulesOf(text) });
          const is = evaluateAcl(after, requestOf(other, at), NOW).allowed;
          expect(is).toBe(evaluateAcl(acl, requestOf(other, at), NOW).allowed);
        },
      ),
      { numRuns: 5000 },
    );
  });

  test("has no character that is not shown as itself, and means what it would mean with it", () => {
    const name = "a\u202eb\u00a0c\u200bd\u{e0041}";
    const acl = compileAcl(
      [{ name: "p", rules: rulesOf('path "kv/*" { capabilities = ["update"] allowed_parameters = { x = [] } }') }],
      { now: NOW },
    );
    const asked = { operation: "update", path: `kv/${name}`, data: { [name]: 1 } } as const;
    const text = suggestPolicy(acl, asked, NOW) ?? "";
    expect(text).toContain('path "kv/a\\u202eb\\u00a0c\\u200bd\\U000e0041"');
    expect(text).toMatch(/^[\x20-\x7e\n]+$/);
    expect(evaluateAcl(acl.with({ name: "suggested", rules: rulesOf(text) }), asked, NOW).allowed).toBe(true);
  });

  test("is missing only where no rule that is added for the path helps", () => {
    fc.assert(
      fc.property(policies, request, (some, asked) => {
        const acl = compileAcl(some, { now: NOW });
        if (evaluateAcl(acl, asked, NOW).allowed || suggestPolicy(acl, asked, NOW) !== null) return;
        const all = acl.with({ name: "all", rules: [{ ...everything, path: asked.path }] });
        expect(evaluateAcl(all, asked, NOW).allowed).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });
});
