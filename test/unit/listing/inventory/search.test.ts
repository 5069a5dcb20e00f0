import fc from "fast-check";
import { expect, it } from "vitest";
import { fixedPart, newEntry } from "../../../../src/listing/inventory/entry.ts";
import { ACCESSOR_PART, isFound, textOfTerm } from "../../../../src/listing/inventory/filter.ts";
import { termsOf } from "../../../../src/listing/inventory/index-terms.ts";
import { RECORD } from "./record.ts";

const ACCESSOR = "Qx7".repeat(28);

const text = fc.string({ unit: fc.constantFrom(...'aAbB=%_"\u0130\u00df\u03a3\u0000 '), maxLength: 8 });

it("finds a part of each text in any case, and nothing else", () => {
  const facts = fc.record({ displayName: text, role: fc.option(text), path: text, meta: fc.dictionary(text, text) });
  fc.assert(
    fc.property(facts, text, (fact, searched) => {
      const entry = newEntry({ record: { ...RECORD, ...fact }, expiresAt: null }, ACCESSOR, null);
      const pairs = Object.entries(fact.meta).map(([name, value]) => `${name}=${value}`);
      const naive = [fact.displayName, fact.role ?? "", fact.path, ...pairs].some((one) =>
        one.toLowerCase().includes(searched.toLowerCase()),
      );
      expect(isFound({ text: searched, entities: [] }, entry)).toBe(naive);
      // What finds it is a term of it, so that its index does.
      const terms = termsOf(entry).flatMap((term) => textOfTerm(term) ?? []);
      expect(searched === "" || terms.some((term) => term.toLowerCase().includes(searched.toLowerCase()))).toBe(naive);
    }),
  );
});

it.each([
  [ACCESSOR, true],
  [ACCESSOR.slice(0, 8), true],
  [ACCESSOR.slice(0, 7), false],
  [ACCESSOR.slice(40, 60), true],
  [ACCESSOR.slice(40, 60).toLowerCase(), false],
])("accessors: %s", (searched, found) => {
  const entry = newEntry({ record: RECORD, expiresAt: null }, ACCESSOR, null);
  expect(isFound({ text: searched, entities: [] }, entry)).toBe(found);
});

it("no accessor is read for a word in one case", () => {
  expect(["payments-api", "NODE-299", "token", "token-web.Example"].map((text) => ACCESSOR_PART.test(text))).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

it("finds the tokens of an entity, and not those without one", () => {
  const entry = newEntry({ record: { ...RECORD, entityId: "e1" }, expiresAt: null }, ACCESSOR, null);
  expect(isFound({ text: "zzz", entities: ["e1"] }, entry)).toBe(true);
  expect(isFound({ text: "zzz", entities: ["e2"] }, entry)).toBe(false);
});

it("of a long pair the first 256 characters are searched", () => {
  const meta = { note: `${"x".repeat(240)}needle${"y".repeat(100)}tail` };
  const entry = newEntry({ record: { ...RECORD, meta }, expiresAt: null }, ACCESSOR, null);
  expect(["needle", "tail"].map((part) => isFound({ text: part, entities: [] }, entry))).toEqual([true, false]);
  expect(fixedPart({ ...RECORD, meta }).metadata).toEqual(meta);
});
