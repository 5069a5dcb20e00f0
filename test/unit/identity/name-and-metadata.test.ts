import { describe, expect, it } from "vitest";
import { identityPolicies, metadataProblem, nameProblem } from "../../../src/identity/name-and-metadata.ts";

describe("policies of entities and groups", () => {
  it.each(["root", "ROOT", "rooT", " root", "root ", "\troot\n", "\u00a0root", "root\ufeff", "\u2003rOoT\u3000"])(
    "never hold root: %j",
    (name) => {
      expect(identityPolicies(["default", name])).toEqual({
        ok: false,
        error: { code: "invalid_request", message: "policies cannot contain root" },
      });
    },
  );

  it("are lower case, trimmed, sorted and without repeats", () => {
    expect(identityPolicies([" B", "a", "A ", ""])).toEqual({ ok: true, value: ["a", "b"] });
    expect(identityPolicies([])).toEqual({ ok: true, value: [] });
    expect(identityPolicies(null)).toEqual({ ok: true, value: null });
  });

  it("are bounded in number and in their names", () => {
    expect(identityPolicies(Array.from({ length: 257 }, (_, i) => `p${i}`)).ok).toBe(false);
    expect(identityPolicies(["x".repeat(257)]).ok).toBe(false);
    // Looks like root in a listing, and is not.
    expect(identityPolicies(["ro\u200bot"]).ok).toBe(false);
  });
});

describe("bounds", () => {
  it("hold for names", () => {
    expect(nameProblem("entity", "x".repeat(512))).toBeNull();
    expect(nameProblem("entity", "x".repeat(513))).toMatch(/longer than 512/);
    expect(nameProblem("alias", "a\u0000b")).toMatch(/control characters/);
  });

  it("hold for metadata", () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
    expect(metadataProblem("metadata", many(64))).toBeNull();
    expect(metadataProblem("metadata", many(65))).toMatch(/more than 64/);
    expect(metadataProblem("metadata", { k: "x".repeat(513) })).toMatch(/up to 512/);
    expect(metadataProblem("metadata", { ["k".repeat(129)]: "" })).toMatch(/1 to 128/);
    expect(metadataProblem("metadata", { "": "x" })).toMatch(/1 to 128/);
  });
});
