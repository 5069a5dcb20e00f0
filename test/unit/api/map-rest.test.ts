import { describe, expect, it } from "vitest";
import { addRemainder } from "../../../src/api/sys/tokens/summary.ts";

const group = (mount: string, count: number, restTrees: number, largest: readonly number[] = []) => ({
  mount,
  count,
  trees: largest.length + restTrees,
  largest: largest.map((size, at) => ({ tree: `${mount} ${at}`, root: {}, count: size })),
  restTrees,
});
const restsOf = (...groups: Parameters<typeof addRemainder>[0]) => addRemainder(groups).map(({ rest }) => rest);

describe("tokens in the trees that a map does not name", () => {
  it("are exact when one mount alone has such trees, whichever mounts issued their tokens", () => {
    expect(restsOf(group("a", 50, 0, [80]), group("b", 60, 7, [10]))).toEqual([
      { trees: 0, count: 0, estimated: false },
      { trees: 7, count: 20, estimated: false },
    ]);
  });

  it("are exact when each tree is a single token", () => {
    expect(restsOf(group("a", 5, 5), group("b", 13, 3, [10]))).toEqual([
      { trees: 5, count: 5, estimated: false },
      { trees: 3, count: 3, estimated: false },
    ]);
  });

  it("are divided by the number of trees else, and said to be an estimate", () => {
    expect(restsOf(group("a", 90, 30), group("b", 10, 10))).toEqual([
      { trees: 30, count: 75, estimated: true },
      { trees: 10, count: 25, estimated: true },
    ]);
  });
});
