import { describe, expect, it } from "vitest";
import { metadataProblem, nameProblem } from "../../../src/identity/name-and-metadata.ts";

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
