import { describe, expect, it } from "vitest";
import { GenerationalCache } from "../../../src/base/generational-cache.ts";

describe("GenerationalCache", () => {
  it("keeps what comes again, and lets go of what does not", () => {
    const recent = new GenerationalCache<number, string>(10);
    recent.set(0, "busy", 1);
    for (let key = 1; key <= 100; key++) {
      recent.set(key, "once", 1);
      expect(recent.get(0)).toBe("busy");
    }
    expect(recent.get(1)).toBeUndefined();
  });

  it("never keeps more than two generations", () => {
    const recent = new GenerationalCache<number, string>(10);
    for (let key = 0; key < 1000; key++) recent.set(key, "once", key % 4);
    const sizes = Array.from({ length: 1000 }, (_, key) => (recent.get(key) === undefined ? 0 : key % 4));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(20);
  });

  it("serves as many as fit in a generation again and again", () => {
    const recent = new GenerationalCache<number, string>(100);
    for (let key = 0; key < 100; key++) recent.set(key, String(key), 1);
    for (let round = 0; round < 3; round++) {
      for (let key = 0; key < 100; key++) expect(recent.get(key)).toBe(String(key));
    }
  });

  it("replaces and forgets, in both generations", () => {
    const recent = new GenerationalCache<string, number>(2);
    recent.set("a", 1, 1);
    recent.set("b", 1, 1);
    recent.set("c", 1, 1);
    recent.set("a", 2, 1);
    expect(recent.get("a")).toBe(2);
    recent.forget("a");
    recent.forget("b");
    expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual([undefined, undefined, 1]);
  });
});
