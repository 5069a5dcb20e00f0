import fc from "fast-check";
import { expect, it } from "vitest";
import { fixedPart, newEntry, TOKEN_MOUNT } from "../../../../src/listing/inventory/entry.ts";
import {
  ACCESSOR_PART,
  isFound,
  matches,
  type TokenFilter,
  textOfTerm,
} from "../../../../src/listing/inventory/filter.ts";
import { termsOf } from "../../../../src/listing/inventory/index-terms.ts";
import { firstRowAt } from "../../../../src/token/ids.ts";
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

const HOUR = 3_600_000;
const MADE = Date.UTC(2027, 0, 1);
const ENDS = MADE + 9 * HOUR;
const USED = MADE + HOUR;

// A tree decides by these conditions, not by the list, which tokens a revocation ends.
it.each<[TokenFilter, TokenFilter]>([
  [{ mount: TOKEN_MOUNT }, { mount: "other" }],
  [{ role: "ci" }, { role: "c" }],
  [{ pathPrefix: "auth/token/" }, { pathPrefix: "auth/jwt/" }],
  [{ policy: "deploy" }, { policy: "dep" }],
  [{ entityId: "e1" }, { entityId: "" }],
  [{ displayName: "token-a" }, { displayName: "token" }],
  [{ displayNamePrefix: "token-" }, { displayNamePrefix: "oken" }],
  [{ metadata: { owner: "pay" } }, { metadata: { owner: "" } }],
  [{ metadata: { owner: "pay", run: "7" } }, { metadata: { owner: "pay", run: "8" } }],
  [{ search: { text: "KEN-A", entities: [] } }, { search: { text: "ken-b", entities: [] } }],
  [{ tree: "t1" }, { tree: "t2" }],
  [{ createdAfter: MADE - 1 }, { createdAfter: MADE }],
  [{ createdBefore: MADE + 1 }, { createdBefore: MADE }],
  [{ endsAfter: ENDS - 1 }, { endsAfter: ENDS }],
  [{ endsBefore: ENDS + 1 }, { endsBefore: ENDS }],
  [{ neverEnds: false }, { neverEnds: true }],
  [{ orphan: false }, { orphan: true }],
  [{ unusedSince: USED + HOUR }, { unusedSince: USED + HOUR - 1 }],
])("a token of the filter %j is not of %j", (its, other) => {
  const meta = { owner: "pay", run: "7" };
  const record = { ...RECORD, role: "ci", policies: ["deploy"], entityId: "e1", displayName: "token-a", meta };
  const entry = newEntry({ record, expiresAt: ENDS }, ACCESSOR, "parent");
  const token = { ...entry, id: firstRowAt(MADE), lastUsed: USED };
  expect([its, other].map((filter) => matches(filter, token, "t1", ENDS - 1))).toEqual([true, false]);
  expect(matches(its, token, "t1", ENDS)).toBe(false);
});
