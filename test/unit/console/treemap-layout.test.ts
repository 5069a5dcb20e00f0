import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Item, itemsOfMap, sumOf } from "../../../console/forest/token-map.ts";
import { type Area, layOut, neighbour } from "../../../console/forest/treemap-layout.ts";
import { consoleToken } from "../../support/console-token.ts";

const itemOf = (key: string, count: number): Item => ({ key, name: key, count, token: null, mount: "m", opens: "" });
const frameOf = (key: string, counts: readonly number[]): Item => {
  const items = counts.map((count, at) => itemOf(`${key} ${at}`, count));
  return { ...itemOf(key, sumOf(items)), items };
};
const leavesOf = (areas: readonly Area[]) => areas.filter(({ isFrame }) => !isFrame);
const overlap = (a: Area, b: Area): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const FRAMES = fc.array(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 60 }), {
  minLength: 1,
  maxLength: 4,
});

describe("the layout of the map", () => {
  it("puts areas beside each other within the map, and joins those that are too small", () => {
    fc.assert(
      fc.property(FRAMES, fc.integer({ min: 280, max: 1_400 }), (frames, width) => {
        const items = frames.map((counts, at) => frameOf(`frame ${at}`, counts));
        const leaves = leavesOf(layOut(items, width, 480));
        for (const [at, area] of leaves.entries()) {
          expect(area.x >= 0 && area.x + area.width <= width && area.y >= 0 && area.y + area.height <= 480).toBe(true);
          for (const other of leaves.slice(at + 1)) expect(overlap(area, other)).toBe(false);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("counts in the area of small trees those that the server did not name", () => {
    const [group] = itemsOfMap({
      total: 20_109,
      fresh_as_of: "",
      groups: [
        {
          mount: "auth/token/",
          count: 20_109,
          trees: 14,
          largest: [
            { tree: "a", root: consoleToken({ display_name: "" }), count: 20_000, ended: false },
            { tree: "b", root: consoleToken({ display_name: "" }), count: 2, ended: false },
          ],
          rest: { trees: 12, count: 107, estimated: true },
        },
      ],
    });
    if (!group) throw new Error("the map has one group");
    const areas = leavesOf(layOut([group], 1_000, 480));
    expect(areas.map(({ item }) => [item.name, item.count])).toEqual([
      ["token · a1", 20_000],
      ["13 smaller trees", 109],
    ]);
    expect(areas[1]?.item).toMatchObject({
      rest: { trees: 13, estimated: true },
      opens: "/ui/tokens?mount=auth%2Ftoken%2F&orphan=true",
    });
  });

  it("finds the next area in the direction of an arrow key, and none beyond the last", () => {
    const at = (x: number, y: number): Area => ({ item: itemOf("", 1), x, y, width: 10, height: 10, isFrame: false });
    const areas = [at(0, 0), at(20, 0), at(0, 20), at(20, 20)];
    const from = (index: number, key: string) => neighbour(areas, areas[index] ?? at(0, 0), key);
    expect([from(0, "ArrowRight"), from(0, "ArrowDown"), from(3, "ArrowLeft"), from(3, "ArrowUp")]).toEqual([
      1, 2, 2, 1,
    ]);
    expect([from(0, "ArrowLeft"), from(3, "ArrowDown"), from(0, "Enter")]).toEqual([-1, -1, -1]);
  });
});
