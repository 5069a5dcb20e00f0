import { expect, it } from "vitest";
import { ExpiringCache } from "../../../../../src/methods/cloud/clients/expiring-cache.ts";

it("gives a value until it ends", () => {
  const cache = new ExpiringCache<number>(2);
  cache.set("a", 1, 100);
  expect(cache.get("a", 99)).toBe(1);
  expect(cache.get("a", 100)).toBeUndefined();
  expect(cache.get("a", 99)).toBeUndefined();
});

it("forgets what was used longest ago when it is full", () => {
  const cache = new ExpiringCache<number>(2);
  cache.set("a", 1, 100);
  cache.set("b", 2, 100);
  cache.get("a", 0);
  cache.set("c", 3, 100);
  expect(["a", "b", "c"].map((key) => cache.get(key, 0))).toEqual([1, undefined, 3]);
  cache.set("c", 4, 100);
  expect(["a", "c"].map((key) => cache.get(key, 0))).toEqual([1, 4]);
  cache.delete("a");
  expect(cache.get("a", 0)).toBeUndefined();
});
