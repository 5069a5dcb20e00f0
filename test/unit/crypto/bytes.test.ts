import fc from "fast-check";
import { expect, it } from "vitest";
import { equalTexts } from "../../../src/crypto/bytes.ts";

it("texts are equal when each character is", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), (text, more) => {
      expect(equalTexts(text, `${text}`)).toBe(true);
      expect(equalTexts(text, text + more)).toBe(false);
      expect(equalTexts(more, text)).toBe(more === text);
    }),
  );
  expect(equalTexts("ä", "ä".normalize("NFD"))).toBe(false);
  expect([equalTexts("", ""), equalTexts("a", "b"), equalTexts("é", "e")]).toEqual([true, false, false]);
});
