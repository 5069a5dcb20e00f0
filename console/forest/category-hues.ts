/** The colours of categories since the page was opened, by kind of category. */
const drawn = new Map<string, Map<string, string>>();

/**
 * Like `huesOf`, but remembers the colours of all earlier drawings of a kind: a category keeps its colour while it is
 * out of view, and on another page.
 */
export function keptHues(kind: string, ranked: readonly string[], hues: number): ReadonlyMap<string, string> {
  const before = drawn.get(kind) ?? new Map<string, string>();
  const now = huesOf(ranked, hues, before);
  for (const [category, hue] of now) if (hue !== OTHER_HUE) before.set(category, hue);
  drawn.set(kind, before);
  return now;
}

/** The class of areas without a colour of their own. */
export const OTHER_HUE = "hue-rest";

/**
 * Assigns a class to each category, the largest first. A category keeps its colour while others grow, shrink, come or
 * go: it has its earlier colour, or else a hash of its name chooses it. When two choose the same colour, the later one
 * in the alphabet takes the next free one.
 *
 * @param hues number of colours; further categories have no colour of their own
 * @param before the classes of earlier drawings
 */
export function huesOf(
  ranked: readonly string[],
  hues: number,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const taken = new Map<number, string>();
  const coloured = ranked.slice(0, hues).sort();
  const classes = Array.from({ length: hues }, (_, hue) => classOf(hue));
  const had = (category: string): number => classes.indexOf(before.get(category) ?? "");
  // Two categories that were never drawn together can have the same earlier colour.
  for (const category of coloured) {
    if (had(category) >= 0 && !taken.has(had(category))) taken.set(had(category), category);
  }
  const placed = new Set(taken.values());
  for (const category of coloured.filter((category) => !placed.has(category))) {
    let hue = hashOf(category) % hues;
    while (taken.has(hue)) hue = (hue + 1) % hues;
    taken.set(hue, category);
  }
  const byCategory = new Map([...taken].map(([hue, category]) => [category, classOf(hue)] as const));
  return new Map(ranked.map((category) => [category, byCategory.get(category) ?? OTHER_HUE]));
}

const classOf = (hue: number): string => `hue-${hue}`;

/** FNV-1a, 32 bits, so that similar names get different colours. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return hash >>> 0;
}
