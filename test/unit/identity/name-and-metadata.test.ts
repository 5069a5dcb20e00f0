import { describe, expect, it } from "vitest";
import { ENTITY_SUMMARY_VIEW } from "../../../src/api/identity/view.ts";
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
    expect(metadataProblem("metadata", { ["k".repeat(128)]: "x".repeat(512) })).toBeNull();
    expect(metadataProblem("metadata", { k: "x".repeat(513) })).toMatch(/up to 512/);
    expect(metadataProblem("metadata", { ["k".repeat(129)]: "" })).toMatch(/1 to 128/);
    expect(metadataProblem("metadata", { "": "x" })).toMatch(/1 to 128/);
  });
});

it("people know an entity by the name that its newest login gave", () => {
  const alias = (updatedAt: number, metadata: Record<string, string>) => ({
    ...{ id: `alias ${updatedAt}`, entityId: "e", name: "4711", mountAccessor: "a", customMetadata: {} },
    ...{ createdAt: 1, updatedAt, metadata },
  });
  const aliases = [
    alias(2, { name: "before" }),
    alias(3, { role_name: "now" }),
    alias(4, {}),
    alias(1, { name: "old" }),
  ];
  const none = { metadata: {}, policies: [], mergedIds: [], directGroupIds: [], inheritedGroupIds: [] };
  const thing = { id: "e", name: "entity", disabled: false, createdAt: 1, updatedAt: 1, ...none, aliases };
  expect(ENTITY_SUMMARY_VIEW.show({ thing, mounts: [] })).toMatchObject({ name: "entity", display_name: "now" });
});
