import { expect, test } from "vitest";
import { joinedUsage, usageOf } from "../../../src/policy/usage.ts";

const names = (kind: string, count: number) => Array.from({ length: count }, (_, at) => `${kind} ${at}`);

test("all holders are counted, and the first hundred are named", () => {
  const joined = joinedUsage([usageOf(names("role", 80)), usageOf(names("other", 150))]);
  expect(joined).toEqual({ count: 230, more: false, names: [...names("role", 80), ...names("other", 20)] });
});

test("a count is a lower bound as soon as one place was read only in part", () => {
  expect(joinedUsage([usageOf([]), usageOf(["a"], true)])).toEqual({ count: 1, more: true, names: ["a"] });
  expect(joinedUsage([], true)).toEqual({ count: 0, more: true, names: [] });
});
