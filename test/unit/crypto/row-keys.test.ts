import { describe, expect, it } from "vitest";
import { RowKeys, type RowPlace, SEAL_BYTES, type SealedContent } from "../../../src/crypto/row-keys.ts";

const root = (fill: number) => new Uint8Array(32).fill(fill);
const term = (version: number, usedFrom = 0) => ({ version, root: root(version), usedFrom });
const PLACE: RowPlace = { kind: "token", object: "tree-1", row: 7 };
const CONTENT: SealedContent = [new Uint8Array([1, 2]), "text", 5, null];
const NOW = 1_000;

describe("the seal of a row", () => {
  const keys = new RowKeys([term(1)]);
  const seal = keys.seal(PLACE, CONTENT, NOW);

  it("holds for the same content in the same place", () => {
    expect(seal).toHaveLength(SEAL_BYTES);
    expect(keys.check(PLACE, CONTENT, seal, NOW)).toBe("good");
  });

  it.each<[string, RowPlace, SealedContent]>([
    ["another row", { ...PLACE, row: 8 }, CONTENT],
    ["a row of that name", { ...PLACE, row: "7" }, CONTENT],
    ["another object", { ...PLACE, object: "tree-2" }, CONTENT],
    ["another kind", { ...PLACE, kind: "policy" }, CONTENT],
    ["other bytes", PLACE, [new Uint8Array([1, 3]), "text", 5, null]],
    ["other text", PLACE, [new Uint8Array([1, 2]), "texT", 5, null]],
    ["values that run together otherwise", PLACE, [new Uint8Array([1, 2]), "text,5", null]],
    ["a value less", PLACE, CONTENT.slice(0, 3)],
  ])("does not hold for %s", (_, place, content) => {
    expect(keys.check(place, content, seal, NOW)).toBe("forged");
  });

  it("does not hold with any byte changed, cut short, or made with other keys", () => {
    for (let i = 0; i < seal.length; i++) {
      const changed = seal.slice();
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(keys.check(PLACE, CONTENT, changed, NOW)).toBe("forged");
      expect(keys.check(PLACE, CONTENT, seal.subarray(0, i), NOW)).toBe("forged");
    }
    const others = new RowKeys([{ ...term(1), root: root(9) }]);
    expect(others.check(PLACE, CONTENT, seal, NOW)).toBe("forged");
  });

  it("of an older term holds and is renewed once the newer one is in use", () => {
    const rotated = new RowKeys([term(2, NOW + 10), term(1)]);
    expect(rotated.check(PLACE, CONTENT, seal, NOW)).toBe("good");
    expect(rotated.seal(PLACE, CONTENT, NOW)).toEqual(seal);
    expect(rotated.check(PLACE, CONTENT, seal, NOW + 10)).toBe("renew");
    const renewed = rotated.seal(PLACE, CONTENT, NOW + 10);
    expect(rotated.check(PLACE, CONTENT, renewed, NOW + 10)).toBe("good");
    expect(new RowKeys([term(2)]).check(PLACE, CONTENT, seal, NOW)).toBe("forged");
  });
});

it("a row without a seal is refused", () => {
  expect(new RowKeys([term(1)]).check(PLACE, CONTENT, null, NOW)).toBe("forged");
});
