import { keptHues, OTHER_HUE } from "./category-hues.ts";
import type { Item } from "./token-map.ts";

export type ColourBy = "method" | "end" | "policy";

/** Number of the style sheet's classes for colours of areas, on all of which text is readable. */
const HUES = 8;

const HOUR = 3_600_000;

/** The category of an area that stands for several tokens. */
const MANY = "many";

/** Categories by the time until a token ends; the first match counts. */
const ENDS: readonly (readonly [label: string, withinMs: number])[] = [
  ["within an hour", HOUR],
  ["within a day", 24 * HOUR],
  ["within a week", 7 * 24 * HOUR],
  ["within 30 days", 30 * 24 * HOUR],
  ["later", Number.POSITIVE_INFINITY],
];

/** The category of an item, which decides its colour. */
export function categoryOf({ token, mount, rest, joined }: Item, by: ColourBy, now: number): string {
  if (by === "method") return mount;
  if (joined) {
    const [one = MANY, ...others] = new Set(joined.map((item) => categoryOf(item, by, now)));
    return others.length === 0 ? one : MANY;
  }
  if (rest || !token) return MANY;
  if (by === "policy") return token.policies.find((name) => name !== "default") ?? token.policies[0] ?? "none";
  if (token.expires === null) return "never";
  const left = Date.parse(token.expires) - now;
  return ENDS.find(([, within]) => left <= within)?.[0] ?? "later";
}

/** The categories on a map, the most common first, each with its class. */
export function paletteOf(items: readonly Item[], by: ColourBy, now: number): ReadonlyMap<string, string> {
  if (by === "end") {
    const labels = [...ENDS.map(([label]) => label), "never"];
    return new Map([...labels.map((label, at) => [label, `end-${at}`] as const), [MANY, OTHER_HUE]]);
  }
  const counts = new Map<string, number>();
  for (const item of items) {
    const category = categoryOf(item, by, now);
    counts.set(category, (counts.get(category) ?? 0) + item.count);
  }
  const ranked = [...counts].sort((a, b) => b[1] - a[1]).map(([category]) => category);
  const hues = keptHues(
    by,
    ranked.filter((category) => category !== MANY),
    HUES,
  );
  return new Map(ranked.map((category) => [category, hues.get(category) ?? OTHER_HUE]));
}
