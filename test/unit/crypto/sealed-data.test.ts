import { afterEach, describe, expect, it, vi } from "vitest";
import { toHex } from "../../../src/crypto/bytes.ts";
import { importKeys, newKeyRing, withNewTerm } from "../../../src/crypto/key-ring.ts";
import { termInUse } from "../../../src/crypto/row-keys.ts";
import { openText, sealText } from "../../../src/crypto/sealed-data.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("sealed data", () => {
  it("opens in its context only", async () => {
    const keys = await importKeys(newKeyRing(0));
    const plain = "a secret";
    const sealed = await sealText(keys, "here", plain);
    expect(await openText(keys, "here", sealed)).toBe(plain);
    expect(await openText(keys, "there", sealed)).toBeNull();
    expect(toHex(sealed)).not.toContain(toHex(new TextEncoder().encode(plain)));
  });

  it.each(["", "\uFEFFa mark of the byte order", "𝔞\n\u0000"])("gives the text that was sealed: %j", async (plain) => {
    const keys = await importKeys(newKeyRing(0));
    expect(await openText(keys, "here", await sealText(keys, "here", plain))).toBe(plain);
  });

  it("does not open when changed, cut or made by another installation", async () => {
    const keys = await importKeys(newKeyRing(0));
    const sealed = await sealText(keys, "here", "abc");
    for (let i = 0; i < sealed.length; i++) {
      const changed = sealed.slice();
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(await openText(keys, "here", changed)).toBeNull();
      expect(await openText(keys, "here", sealed.subarray(0, i))).toBeNull();
    }
    expect(await openText(await importKeys(newKeyRing(0)), "here", sealed)).toBeNull();
  });

  it("stays readable after the data key was replaced", async () => {
    const ring = newKeyRing(0);
    const sealed = await sealText(await importKeys(ring), "here", "seven");
    const keys = await importKeys(withNewTerm(ring, 0, 0));
    expect(termInUse(keys.terms, 0).version).toBe(2);
    expect(await openText(keys, "here", sealed)).toBe("seven");
  });

  it("opens on every later day", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const keys = await importKeys(newKeyRing(0));
    const plain = "a secret";
    vi.setSystemTime("2026-01-01T23:59:59Z");
    const first = await sealText(keys, "here", plain);
    vi.setSystemTime("2026-01-02T00:00:00Z");
    const second = await sealText(keys, "here", plain);
    vi.setSystemTime("2036-01-01T00:00:00Z");
    for (const sealed of [first, second]) expect(await openText(keys, "here", sealed)).toBe(plain);
  });

  it("opens values of more days than keys are kept of, whatever days forged ones name", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const keys = await importKeys(newKeyRing(0));
    const sealed: Uint8Array[] = [];
    for (let day = 0; day < 600; day++) {
      vi.setSystemTime(day * 86_400_000);
      sealed.push(await sealText(keys, "here", `${day}`));
    }
    for (const [day, value] of sealed.entries()) {
      expect(await openText(keys, "here", value)).toBe(`${day}`);
    }
  });
});
