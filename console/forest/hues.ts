/** The class of areas without a colour of their own. */
export const OTHER_HUE = "hue-rest";

/**
 * The classes of categories, the largest of which come first. A category keeps its colour while others grow, shrink or
 * come: its name chooses it, and only of two that choose the same one the later in the alphabet takes the next.
 *
 * @param hues number of colours; categories beyond it have none of their own
 */
export function huesOf(ranked: readonly string[], hues: number): ReadonlyMap<string, string> {
  const taken = new Map<number, string>();
  for (const category of ranked.slice(0, hues).sort()) {
    let hue = hashOf(category) % hues;
    while (taken.has(hue)) hue = (hue + 1) % hues;
    taken.set(hue, category);
  }
  const byCategory = new Map([...taken].map(([hue, category]) => [category, `hue-${hue}`] as const));
  return new Map(ranked.map((category) => [category, byCategory.get(category) ?? OTHER_HUE]));
}

/** FNV-1a, 32 bits: names that differ by a letter get other colours. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return hash >>> 0;
}
