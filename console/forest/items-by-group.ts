import type { TokenMap } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { filterOfGroup, type GroupBy, groupOf } from "../tokens/grouping.ts";
import { type Item, type MountGroup, restItem, sumOf, type TreeGroup, treeItems } from "./token-map.ts";

/** Returns the address that the area of a group leads to: its trees. */
export type OpensGroup = (mount: string, group: string) => string;

/**
 * The items of each method, with the trees of each group as one area, from the counters of the server. A tree that is alone in its
 * group, or whose first token has no group, stays an area.
 */
export function itemsByGroup(map: TokenMap, items: readonly Item[], by: GroupBy, opens: OpensGroup): readonly Item[] {
  return items.map((frame) => {
    const group = map.groups.find(({ mount }) => mount === frame.mount);
    return group?.by_group ? { ...frame, items: areasOf(group, group.by_group, by, opens) } : joined(frame, by, opens);
  });
}

function areasOf(group: MountGroup, groups: readonly TreeGroup[], by: GroupBy, opens: OpensGroup): readonly Item[] {
  const { mount } = group;
  const trees = Map.groupBy(treeItems(group), ({ token }) => (token && groupOf(token, by)) ?? "");
  const named = groups.filter(({ key }) => key !== "");
  const areas = named.map(({ key, trees: number, count }) => {
    const of = trees.get(key) ?? [];
    const [only] = of;
    if (number === 1 && only) return only;
    const area = { ...joinedItem(mount, key, of, opens), trees: number, count };
    // Without a named tree there is no map of the group. Its trees are in the list.
    const filter = only ? null : filterOfGroup(by, key);
    return filter ? { ...area, opens: href(["tokens"], { ...filter, mount, orphan: "true" }) } : area;
  });
  const apart = [...trees].flatMap(([key, of]) => (named.some((one) => one.key === key) ? [] : of));
  const unnamed = [...groups.filter(({ key }) => key === ""), group.by_group_other ?? { trees: 0, count: 0 }];
  const rest = {
    trees: Math.max(0, unnamed.reduce((sum, one) => sum + one.trees, 0) - apart.length),
    count: Math.max(0, unnamed.reduce((sum, { count }) => sum + count, 0) - sumOf(apart)),
    estimated: false,
  };
  const frame = { key: mount, mount, token: null };
  return [...areas, ...apart, ...(rest.count > 0 ? [restItem(frame, rest)] : [])];
}

/** The same from the trees that the server named, when it counts no groups. */
function joined(frame: Item, by: GroupBy, opens: OpensGroup): Item {
  if (!frame.items) return frame;
  const groups = Map.groupBy(frame.items, ({ token, key }) => (token && groupOf(token, by)) || `\0${key}`);
  const items = [...groups].flatMap(([group, of]) =>
    of.length === 1 ? of : [joinedItem(frame.mount, group, of, opens)],
  );
  return { ...frame, items };
}

/** The keys of the groups that are drawn as one area. */
export const groupsIn = (items: readonly Item[]): readonly string[] => [
  ...new Set(items.flatMap((frame) => (frame.items ?? []).flatMap(({ joined, name }) => (joined ? [name] : [])))),
];

/** The areas of groups with their display names, where known. */
export const withNames = (items: readonly Item[], names: ReadonlyMap<string, string>): readonly Item[] =>
  items.map((frame) =>
    frame.items
      ? {
          ...frame,
          items: frame.items.map((item) => (item.joined ? { ...item, name: names.get(item.name) ?? item.name } : item)),
        }
      : frame,
  );

function joinedItem(mount: string, group: string, of: readonly Item[], opens: OpensGroup): Item {
  return {
    key: `${mount} ${group}`,
    name: group,
    group,
    count: sumOf(of),
    joined: of,
    token: null,
    mount,
    opens: opens(mount, group),
  };
}

/** The trees of one group. Trees that the server does not name are one area. */
export function itemsOfGroup(map: TokenMap, items: readonly Item[], by: GroupBy, group: string): readonly Item[] {
  return items.flatMap((frame) => {
    const trees = (frame.items ?? []).filter(({ token }) => token !== null && groupOf(token, by) === group);
    const counted = map.groups.find(({ mount }) => mount === frame.mount)?.by_group?.find(({ key }) => key === group);
    const rest = {
      trees: Math.max(0, (counted?.trees ?? 0) - trees.length),
      count: Math.max(0, (counted?.count ?? 0) - sumOf(trees)),
      estimated: false,
    };
    const within = rest.count > 0 ? [...trees, restItem(frame, rest)] : trees;
    return within.length === 0 ? [] : [{ ...frame, items: within, count: sumOf(within) }];
  });
}

/** A note when groups include only the named trees; "" when they include all. */
export function groupsText({ groups, more = false }: TokenMap, mount: string): string {
  const shown = groups.filter((group) => mount === "" || group.mount === mount);
  const trees = shown.reduce((sum, group) => sum + group.trees, 0);
  const named = shown.reduce((sum, { largest }) => sum + largest.length, 0);
  if (named >= trees || shown.every((group) => group.by_group)) return "";
  const why = more ? "There are too many trees to be counted by group" : "The server does not count trees by this";
  return `${why}: groups have the ${count(named)} largest of ${counted(trees, "tree")}.`;
}
