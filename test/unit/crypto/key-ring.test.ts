import { describe, expect, it } from "vitest";
import { toBase64 } from "../../../src/crypto/bytes.ts";
import {
  newKeyRing,
  parseSealKey,
  sealedWithVersion,
  sealKeyRing,
  unsealKeyRing,
  withNewTerm,
  withoutTerms,
} from "../../../src/crypto/key-ring.ts";

function sealKey(version: number, fill: number) {
  const parsed = parseSealKey(`${version}:${toBase64(new Uint8Array(32).fill(fill))}`);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

describe("seal key", () => {
  it.each([
    "",
    "abc",
    "1:",
    "1:AAAA",
    "0:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "x:AAAA",
    `1:${"A".repeat(44)}`,
  ])("%j is refused without being repeated", (text) => {
    const parsed = parseSealKey(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok && text.length > 10) expect(parsed.error).not.toContain(text);
  });

  it("opens what it sealed, and nothing else does", async () => {
    const ring = newKeyRing(0);
    const sealed = await sealKeyRing(ring, sealKey(3, 1));
    expect(sealedWithVersion(sealed)).toBe(3);
    expect(await unsealKeyRing(sealed, sealKey(3, 1))).toEqual(ring);
    expect(await unsealKeyRing(sealed, sealKey(3, 2))).toBeNull();
    expect(await unsealKeyRing(sealed, sealKey(4, 1))).toBeNull();
    expect(sealed).not.toContain(ring.identity);
  });

  it("does not open a ring of which any byte was changed", async () => {
    const sealed = await sealKeyRing(newKeyRing(0), sealKey(1, 1));
    for (let i = 0; i < sealed.length; i++) {
      const changed = `${sealed.slice(0, i)}${sealed[i] === "A" ? "B" : "A"}${sealed.slice(i + 1)}`;
      expect(await unsealKeyRing(changed, sealKey(1, 1))).toBeNull();
    }
  });
});

describe("a key ring", () => {
  it("loses terms from its middle too, and uses no version again", () => {
    const ring = withNewTerm(withNewTerm(newKeyRing(0), 1, 2), 3, 4);
    const versions = (without: readonly number[]) =>
      withoutTerms(ring, new Set(without))?.data.map(({ version }) => version);
    expect(versions([2])).toEqual([1, 3]);
    expect(versions([1, 2, 3])).toEqual([3]);
    expect(versions([9])).toBeUndefined();
    const next = withoutTerms(ring, new Set([1, 2]));
    expect(next && withNewTerm(next, 5, 6).data.map(({ version }) => version)).toEqual([3, 4]);
  });
});
