import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { type Item, restItem, sumOf, treesIn } from "./token-map.ts";

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
/** Square pixels. A smaller area can't be seen or clicked, so such areas of a frame are joined. */
const LEAST_AREA = 110;

interface Node {
  readonly item: Item | null;
  readonly children?: readonly Node[];
}

/** Lays items out in a rectangle, each as large as its number of tokens. */
export function layOut(items: readonly Item[], width: number, height: number): readonly Area[] {
  const perToken = (width * height) / Math.max(1, sumOf(items));
  const nodeOf = (item: Item): Node => {
    const within = item.items && joinSmall(item, item.items, perToken);
    return { item, ...(within && { children: within.map(nodeOf) }) };
  };
  const root = hierarchy<Node>({ item: null, children: items.map(nodeOf) }, ({ children }) => children)
    .sum(({ item, children }) => (children || !item ? 0 : item.count))
    .sort((a, b) => restOf(a) - restOf(b) || sizeOf(b) - sizeOf(a));
  const laid = treemap<Node>()
    .size([width, height])
    .paddingInner(GAP)
    .paddingTop((node) => (node.depth === 0 ? 0 : HEADER))
    .paddingLeft((node) => (node.depth === 0 ? 0 : GAP))
    .paddingRight((node) => (node.depth === 0 ? 0 : GAP))
    .paddingBottom((node) => (node.depth === 0 ? 0 : GAP))
    .tile(treemapSquarify)
    .round(true)(root);
  return laid.descendants().flatMap(({ data, x0, y0, x1, y1 }) => {
    const area = { x: x0, y: y0, width: x1 - x0, height: y1 - y0, isFrame: data.children !== undefined };
    return data.item === null || area.width <= 1 || area.height <= 1 ? [] : [{ item: data.item, ...area }];
  });
}

/** Sorts the joined area last, whatever its size. */
const restOf = ({ data: { item } }: { readonly data: Node }): number => (item?.rest ? 1 : 0);
const sizeOf = ({ value = 0 }: { readonly value?: number | undefined }): number => value;

/** Joins the areas that are too small to be drawn, and the tokens that the server did not name, into one area. */
function joinSmall(frame: Item, items: readonly Item[], perToken: number): readonly Item[] {
  const isSmall = ({ count, rest, items: within }: Item): boolean =>
    rest !== undefined || (!within && count * perToken < LEAST_AREA);
  const small = items.filter(isSmall);
  if (small.length < 2) return items;
  const joined = restItem(frame, {
    trees: small.reduce((sum, item) => sum + treesIn(item), 0),
    count: sumOf(small),
    estimated: small.some(({ rest }) => rest?.estimated),
  });
  return [...items.filter((item) => !isSmall(item)), joined];
}

const DIRECTIONS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The nearest area whose middle lies in the direction of the key; -1 when there is none. */
export function neighbour(areas: readonly Area[], from: Area, key: string): number {
  const direction = DIRECTIONS[key];
  if (!direction) return -1;
  const [right, down] = direction;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [at, area] of areas.entries()) {
    const x = area.x + area.width / 2 - (from.x + from.width / 2);
    const y = area.y + area.height / 2 - (from.y + from.height / 2);
    const along = x * right + y * down;
    const distance = along + 3 * Math.abs(x * down + y * right);
    if (along > 0 && distance < least && area !== from) {
      least = distance;
      best = at;
    }
  }
  return best;
}
