/** The colours of the categories that were drawn since the page was opened, of each kind of them. */
const drawn = new Map<string, Map<string, string>>();

/**
 * `huesOf` with the colours of all earlier drawings of a kind: a category that was out of view for a while, or that
 * another page shows too, has the one that it had.
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
 * The classes of categories, the largest of which come first. A category keeps its colour while others grow, shrink,
 * come or go: it has the one that it had before, or its name chooses it, and only of two that choose the same one the
 * later in the alphabet takes the next.
 *
 * @param hues number of colours; categories beyond it have none of their own
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
  // Two that were never drawn together can have had the same one.
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

/** FNV-1a, 32 bits: names that differ by a letter get other colours. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return hash >>> 0;
}
