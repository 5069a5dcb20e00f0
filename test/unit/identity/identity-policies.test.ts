import { describe, expect, it } from "vitest";
import { identityPolicies } from "../../../src/identity/identity-policies.ts";

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
    const many = (length: number) => Array.from({ length }, (_, i) => `p${i}`);
    expect(identityPolicies(many(256)).ok).toBe(true);
    expect(identityPolicies(many(257)).ok).toBe(false);
    expect(identityPolicies(["x".repeat(256)]).ok).toBe(true);
    expect(identityPolicies(["x".repeat(257)]).ok).toBe(false);
    // Looks like root in a listing, and is not.
    expect(identityPolicies(["ro\u200bot"]).ok).toBe(false);
  });
});
