import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import type { Api } from "../api.ts";
import { pathOf } from "../api.ts";
import { counted } from "../format.ts";
import type { Answer } from "../result.ts";
import type { Amount, Token } from "../tokens/token.ts";
import { nameOf } from "../tokens/token.ts";

/** The forest by mount, from counters: as large for a million tokens as for a thousand. */
export interface ForestMap {
  readonly groups: readonly MountGroup[];
  readonly total: number;
}

export interface MountGroup {
  readonly mount: string;
  readonly count: number;
  readonly trees: number;
  readonly largest: readonly { readonly tree: string; readonly root: Token | null; readonly count: number }[];
  readonly rest: { readonly trees: number; readonly count: number };
}

/** A token with two levels below it. */
export interface Branch {
  readonly token: Token;
  readonly descendants?: Amount;
  readonly children?: readonly Branch[];
}

export const readMap = (api: Api): Promise<Answer<ForestMap>> => api.read<ForestMap>("sys/tokens/map");

export const readBranch = (api: Api, accessor: string): Promise<Answer<Branch & { readonly more: boolean }>> =>
  api.read(`sys/tokens/${pathOf(accessor)}/tree`);

/** What one area of the map stands for. */
export interface Item {
  readonly key: string;
  readonly name: string;
  readonly count: number;
  /** Groups are drawn as a frame around what is in them. */
  readonly items?: readonly Item[];
  /** The token that it is, or whose tree it is. */
  readonly token: Token | null;
  readonly mount: string;
  /** Many trees in one area. */
  readonly rest: boolean;
}

/**
 * The items of the whole forest; with a mount those of it alone. A mount is as large as its trees: what a login began counts
 * there, whichever way the tokens below it were made.
 */
export function itemsOfMap(map: ForestMap, mount: string): readonly Item[] {
  return map.groups
    .filter((group) => mount === "" || group.mount === mount)
    .map((group) => {
      const items = itemsOfGroup(group);
      return { ...NO_TOKEN, key: group.mount, name: group.mount, count: sumOf(items), mount: group.mount, items };
    });
}

const NO_TOKEN = { token: null, rest: false } as const;

/** How many tokens are in all of them. */
export const sumOf = (items: readonly Item[]): number => items.reduce((sum, { count }) => sum + count, 0);

function itemsOfGroup({ mount, largest, rest }: MountGroup): readonly Item[] {
  const trees = largest.map(({ tree, root, count }) => {
    return { key: tree, name: root ? nameOf(root) : "a tree", count, token: root, mount, rest: false };
  });
  if (rest.count === 0) return trees;
  const isSingle = rest.count === rest.trees;
  const name = counted(rest.trees, isSingle ? "single token" : "smaller tree");
  return [...trees, { ...NO_TOKEN, key: `${mount} rest`, name, count: rest.count, mount, rest: true }];
}

/** The items of a branch: its children, and theirs. */
export function itemsOfBranch({ children = [] }: Branch): readonly Item[] {
  return children.map((child) => itemOfBranch(child));
}

function itemOfBranch({ token, descendants, children = [] }: Branch): Item {
  const below = children.map(itemOfBranch);
  const own = 1 + (descendants?.count ?? token.children);
  return {
    key: token.accessor,
    name: nameOf(token),
    count: Math.max(
      own,
      below.reduce((sum, { count }) => sum + count, 1),
    ),
    token,
    mount: token.mount,
    rest: false,
    ...(below.length > 0 && { items: below }),
  };
}

/** An area of the map with its place. */
export interface Area {
  readonly item: Item;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly isFrame: boolean;
}

const HEADER = 20;
const GAP = 2;

/** Lays items out in a rectangle, each as large as its number of tokens. */
export function layOut(items: readonly Item[], width: number, height: number): readonly Area[] {
  interface Node {
    readonly item: Item | null;
    readonly children?: readonly Node[];
  }
  const nodeOf = (item: Item): Node => ({ item, ...(item.items && { children: item.items.map(nodeOf) }) });
  const root = hierarchy<Node>({ item: null, children: items.map(nodeOf) }, ({ children }) => children)
    .sum(({ item, children }) => (children || !item ? 0 : item.count))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const laid = treemap<Node>()
    .size([width, height])
    .paddingInner(GAP)
    .paddingTop((node) => (node.depth === 0 ? 0 : HEADER))
    .paddingLeft((node) => (node.depth === 0 ? 0 : GAP))
    .paddingRight((node) => (node.depth === 0 ? 0 : GAP))
    .paddingBottom((node) => (node.depth === 0 ? 0 : GAP))
    .tile(treemapSquarify)
    .round(true)(root);
  return laid.descendants().flatMap((node) =>
    node.data.item === null
      ? []
      : [
          {
            item: node.data.item,
            x: node.x0,
            y: node.y0,
            width: Math.max(0, node.x1 - node.x0),
            height: Math.max(0, node.y1 - node.y0),
            isFrame: node.data.children !== undefined,
          },
        ],
  );
}
