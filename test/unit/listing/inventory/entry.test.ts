import { expect, it } from "vitest";
import { fixedPart } from "../../../../src/listing/inventory/entry.ts";
import { RECORD } from "./record.ts";

const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, "v"]));

it.each([
  ["none", null, undefined],
  ["no pair", {}, undefined],
  ["a pair", { owner: "payments" }, { owner: "payments" }],
  ["64 pairs", numbered(70), numbered(64)],
  ["one pair that is too long, and one that fits before it", { a: "b", long: "x".repeat(4096), c: "d" }, { a: "b" }],
])("the inventory keeps the metadata that fits: %s", (_, meta, kept) => {
  expect(fixedPart({ ...RECORD, meta }).metadata).toEqual(kept);
});
