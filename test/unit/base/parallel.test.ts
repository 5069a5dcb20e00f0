import { expect, it } from "vitest";
import { inPool } from "../../../src/base/parallel.ts";

it("a pool works on so many items at a time, begins the next when one has ended, and keeps the order of results", async () => {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const all = inPool([10, 20, 30, 40], 2, async (item) => {
    begun.push(item);
    await new Promise<void>((resolve) => ends.set(item, resolve));
    return item * 2;
  });
  const end = async (item: number) => {
    ends.get(item)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  expect(begun).toEqual([10, 20]);
  await end(20);
  expect(begun).toEqual([10, 20, 30]);
  await end(30);
  await end(10);
  await end(40);
  expect(await all).toEqual([20, 40, 60, 80]);
});

it("a pool without items finishes", async () => {
  expect(await inPool([], 3, async () => 1)).toEqual([]);
});
