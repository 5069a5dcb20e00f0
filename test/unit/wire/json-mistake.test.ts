import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../src/policy/json.ts";
import { jsonMistakePlace } from "../../../src/wire/json.ts";

describe("jsonMistakePlace", () => {
  it.each([
    ['{"policies":[', "line 1, column 14, where the text ends"],
    ['{"a": 1,}', "line 1, column 9"],
    ["{'a': 1}", "line 1, column 2"],
    ['{"a": 1}\n{"b": 2}', "line 2, column 1"],
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"],
    ['{"a": nul}', "line 1, column 7"],
    ['{"a": 01}', "line 1, column 8"],
    ['{"a": "b\nc"}', "line 1, column 9"],
    ['{"a": "\\x"}', "line 1, column 8"],
    ['{"a": "b', "line 1, column 9, where the text ends"],
  ])("finds the mistake in %j", (text, place) => expect(jsonMistakePlace(text)).toBe(place));
});

/** Valid JSON with one character taken out, put in or replaced. */
const DAMAGED = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.nat(2), fc.constantFrom(...'{}[],:"\\x0-.eE+ \n\ttrunl'))
  .map(([text, where, removed, added]) => {
    const at = where % (text.length + 1);
    return text.slice(0, at) + (removed === 0 ? "" : added) + text.slice(at + (removed === 1 ? 0 : 1));
  });

function mistakeAt(text: string): number | null {
  const read = readJson(text, 64);
  return read.ok ? null : read.error.at;
}

describe("readJson", () => {
  it("finds a mistake exactly where JSON.parse refuses", () => {
    fc.assert(
      fc.property(DAMAGED, (text) => {
        const at = mistakeAt(text);
        try {
          JSON.parse(text);
          expect(at).toBeNull();
        } catch {
          expect(at).toBeGreaterThanOrEqual(0);
          expect(at).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("no text that continues after the mistake makes it right", () => {
    fc.assert(
      fc.property(DAMAGED, fc.json(), (text, more) => {
        const at = mistakeAt(text);
        fc.pre(at !== null && at < text.length);
        if (at === null) return;
        expect(() => JSON.parse(text.slice(0, at + 1) + more)).toThrow();
      }),
    );
  });
});
