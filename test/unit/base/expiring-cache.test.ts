import { expect, it } from "vitest";
import { ExpiringCache } from "../../../src/base/generational-cache.ts";

it("gives a value until it ends, and forgets it then", () => {
  const cache = new ExpiringCache<number>(2);
  cache.set("a", 1, 100);
  expect(cache.get("a", 99)).toBe(1);
  expect(cache.get("a", 100)).toBeUndefined();
  expect(cache.get("a", 99)).toBeUndefined();
});

it("keeps what is used, and lets go of what is not when it is full", () => {
  const cache = new ExpiringCache<number>(2);
  for (const [number, key] of ["a", "b", "c", "d", "e"].entries()) {
    cache.set(key, number, 100);
    expect(cache.get("a", 0)).toBe(0);
  }
  expect(cache.get("b", 0)).toBeUndefined();
  expect(cache.get("e", 0)).toBe(4);
  cache.set("e", 5, 100);
  expect(cache.get("e", 0)).toBe(5);
  cache.forget("e");
  expect(cache.get("e", 0)).toBeUndefined();
});
