import { describe, expect, it } from "vitest";
import type { TokenMap } from "../../../client/answers.d.ts";
import { categoryOf } from "../../../console/forest/area-category.ts";
import { groupsIn, groupsText, itemsByGroup, itemsOfGroup, withNames } from "../../../console/forest/items-by-group.ts";
import { nextEndOf } from "../../../console/forest/next-end.ts";
import { itemsOfMap, sumOf, treesIn } from "../../../console/forest/token-map.ts";
import { consoleToken } from "../../support/console-token.ts";

const tree = (tree: string, name: string, count: number, policy = "web") => ({
  tree,
  root: consoleToken({ accessor: tree, display_name: name, policies: [policy], metadata: { owner: `of ${name}` } }),
  count,
  ended: false,
});
const map: TokenMap = {
  groups: [
    {
      mount: "auth/aws/",
      count: 100,
      trees: 14,
      largest: [tree("a", "payments", 30), tree("b", "payments", 20), tree("c", "search", 10), tree("d", "", 5)],
      rest: { trees: 10, count: 35, estimated: false },
    },
  ],
  total: 100,
  fresh_as_of: "2026-11-22T10:00:00Z",
};
const items = itemsOfMap(map);

describe("the next end of a group of trees", () => {
  const ends = (expires: string | null) => ({
    ...{ key: "", name: "", count: 2, mount: "auth/aws/", opens: "" },
    token: consoleToken({ expires }),
  });
  const group = {
    ...ends(null),
    token: null,
    joined: [ends(null), ends("2026-12-03T00:00:00Z"), ends("2026-12-02T00:00:00Z")],
  };

  it("is the first of all, never where none ends, and that of a tree alone", () => {
    expect(nextEndOf(group)).toBe("2026-12-02T00:00:00Z");
    expect(nextEndOf({ ...group, joined: [ends(null)] })).toBeNull();
    expect(nextEndOf(ends(null))).toBeNull();
  });

  it("is not known while a tree has no name, as that may end before", () => {
    expect(nextEndOf({ ...group, trees: 4 })).toBeUndefined();
    expect(nextEndOf({ ...group, joined: [], trees: 4 })).toBeUndefined();
  });
});

describe("the map by service", () => {
  it("shows the trees of one group as one area of their total size, and loses no token", () => {
    const joined = itemsByGroup(map, items, "name", (mount, group) => `${mount}?${group}`);
    expect(sumOf(joined[0]?.items ?? [])).toBe(100);
    const area = joined[0]?.items?.find(({ name }) => name === "payments");
    expect(area).toMatchObject({ count: 50, opens: "auth/aws/?payments" });
    expect(area?.joined).toHaveLength(2);
    expect(joined[0]?.items?.map(({ name }) => name)).toEqual(["payments", "search", "token", "10 smaller trees"]);
  });

  it("calls the areas of groups that have ids by their names, and leaves the trees as they are", () => {
    const joined = itemsByGroup(map, items, "name", () => "");
    expect(groupsIn(joined)).toEqual(["payments"]);
    const names = new Map([
      ["payments", "Dana"],
      ["search", "no tree"],
    ]);
    const shown = withNames(joined, names)[0]?.items?.map(({ name }) => name);
    expect(shown).toEqual(["Dana", "search", "token", "10 smaller trees"]);
  });

  it("says of how many trees the groups are made when not all are in them", () => {
    const by = { by_group: [], by_group_other: { trees: 14, count: 100 } };
    const [group] = map.groups;
    const whole = group ? [group] : [];
    expect(groupsText(map, "")).toBe("The server does not count trees by this: groups have the 4 largest of 14 trees.");
    expect(groupsText({ ...map, more: true }, "auth/aws/")).toMatch(
      /^There are too many trees .* 4 largest of 14 trees\.$/,
    );
    expect(groupsText({ ...map, groups: whole.map((one) => ({ ...one, ...by })) }, "")).toBe("");
    expect(groupsText({ ...map, groups: whole.map((one) => ({ ...one, trees: 4 })) }, "")).toBe("");
    expect(groupsText(map, "auth/token/")).toBe("");
  });

  it("groups by a key of metadata, and leaves apart what does not have it", () => {
    const joined = itemsByGroup(map, items, "metadata.owner", () => "");
    expect(joined[0]?.items?.map(({ name }) => name)).toContain("of payments");
    const without = itemsByGroup(map, items, "metadata.run", () => "");
    expect(without[0]?.items?.map(({ key }) => key)).toEqual(items[0]?.items?.map(({ key }) => key));
  });

  it("shows the groups that the server counted, with a rest of trees, and loses no token", () => {
    const [group] = map.groups;
    const counted: TokenMap = {
      ...map,
      groups: group
        ? [
            {
              ...group,
              by_group: [
                { key: "payments", trees: 9, count: 70 },
                { key: "search", trees: 1, count: 10 },
              ],
              by_group_other: { trees: 4, count: 20 },
            },
          ]
        : [],
    };
    const areas = itemsByGroup(counted, itemsOfMap(counted), "name", () => "")[0]?.items ?? [];
    expect(sumOf(areas)).toBe(100);
    expect(areas.map((area) => [area.name, area.count, treesIn(area)])).toEqual([
      ["payments", 70, 9],
      ["search", 10, 1],
      ["token", 5, 1],
      ["3 smaller trees", 15, 3],
    ]);
    const [frame] = itemsOfGroup(counted, itemsOfMap(counted), "name", "payments");
    expect(frame).toMatchObject({ count: 70 });
    expect(frame?.items?.map(({ count }) => count)).toEqual([30, 20, 20]);
  });

  it("leads from a group without a named tree to the list of its first tokens", () => {
    const groups = map.groups.map((group) => ({
      ...group,
      by_group: [
        { key: "payments", trees: 2, count: 50 },
        { key: "single & alone", trees: 3, count: 3 },
      ],
    }));
    const single: TokenMap = { ...map, groups };
    const areas = itemsByGroup(single, itemsOfMap(single), "name", () => "its trees")[0]?.items ?? [];
    const list = "/ui/tokens?display_name=single+%26+alone&mount=auth%2Faws%2F&orphan=true";
    expect(areas.slice(0, 2).map(({ opens }) => opens)).toEqual(["its trees", list]);
  });

  it("opens a group into its trees", () => {
    const [frame] = itemsOfGroup(map, items, "name", "payments");
    expect(frame).toMatchObject({ mount: "auth/aws/", count: 50 });
    expect(itemsOfGroup(map, items, "name", "nothing")).toEqual([]);
  });

  it("colours an area by what its trees have in common, and by nothing else", () => {
    const mixed: TokenMap = {
      ...map,
      groups: map.groups.map((group) => ({
        ...group,
        largest: [tree("a", "x", 2, "web"), tree("b", "x", 2, "fleet")],
      })),
    };
    const categories = (of: TokenMap) =>
      itemsByGroup(of, itemsOfMap(of), "name", () => "")[0]?.items?.map((item) => categoryOf(item, "policy", 0));
    expect(categories(map)?.[0]).toBe("web");
    expect(categories(mixed)?.[0]).toBe("many");
  });
});
