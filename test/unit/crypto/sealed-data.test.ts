import { afterEach, describe, expect, it, vi } from "vitest";
import { toHex } from "../../../src/crypto/bytes.ts";
import { importKeys, newKeyRing, termInUse, withNewTerm } from "../../../src/crypto/key-ring.ts";
import { openData, sealData } from "../../../src/crypto/sealed-data.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("sealed data", () => {
  it("opens in its context only", async () => {
    const keys = await importKeys(newKeyRing(0));
    const plain = new TextEncoder().encode("a secret");
    const sealed = await sealData(keys, "here", plain);
    expect(await openData(keys, "here", sealed)).toEqual(plain);
    expect(await openData(keys, "there", sealed)).toBeNull();
    expect(toHex(sealed)).not.toContain(toHex(plain));
  });

  it("does not open when changed, cut or made by another installation", async () => {
    const keys = await importKeys(newKeyRing(0));
    const sealed = await sealData(keys, "here", new Uint8Array([1, 2, 3]));
    for (let i = 0; i < sealed.length; i++) {
      const changed = sealed.slice();
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(await openData(keys, "here", changed)).toBeNull();
      expect(await openData(keys, "here", sealed.subarray(0, i))).toBeNull();
    }
    expect(await openData(await importKeys(newKeyRing(0)), "here", sealed)).toBeNull();
  });

  it("stays readable after the data key was replaced", async () => {
    const ring = newKeyRing(0);
    const sealed = await sealData(await importKeys(ring), "here", new Uint8Array([7]));
    const keys = await importKeys(withNewTerm(ring, 0, 0));
    expect(termInUse(keys, 0).version).toBe(2);
    expect(await openData(keys, "here", sealed)).toEqual(new Uint8Array([7]));
  });

  it("opens on every later day", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const keys = await importKeys(newKeyRing(0));
    const plain = new TextEncoder().encode("a secret");
    vi.setSystemTime("2026-01-01T23:59:59Z");
    const first = await sealData(keys, "here", plain);
    vi.setSystemTime("2026-01-02T00:00:00Z");
    const second = await sealData(keys, "here", plain);
    vi.setSystemTime("2036-01-01T00:00:00Z");
    for (const sealed of [first, second]) expect(await openData(keys, "here", sealed)).toEqual(plain);
  });

  it("opens values of more days than keys are kept of, whatever days forged ones name", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const keys = await importKeys(newKeyRing(0));
    const sealed: Uint8Array[] = [];
    for (let day = 0; day < 600; day++) {
      vi.setSystemTime(day * 86_400_000);
      sealed.push(await sealData(keys, "here", new Uint8Array([day % 256])));
    }
    for (const [day, value] of sealed.entries()) {
      expect(await openData(keys, "here", value)).toEqual(new Uint8Array([day % 256]));
    }
  });
});
