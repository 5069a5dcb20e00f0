/** The default columns besides the first, the most useful first, with their widths (px). */
const USUAL = [
  ["ends", 100],
  ["metadata", 300],
  ["policies", 200],
  ["created", 88],
  ["children", 75],
  ["accessor", 122],
  ["mount", 110],
  ["role", 105],
] as const;

/**
 * Widths (px) of the name column with its checkbox, of the navigation, of the window from which on the navigation is
 * beside the page, and of the margins.
 */
const [FIRST, BESIDE, SIDE_FROM, MARGINS] = [238, 204, 821, 30];

/** The default columns that fit into a window of this width (px). */
export function usualColumns(windowWidth: number): readonly string[] {
  const names: string[] = [];
  let room = windowWidth - MARGINS - (windowWidth >= SIDE_FROM ? BESIDE : 0) - FIRST;
  for (const [name, width] of USUAL) {
    room -= width;
    if (room >= 0) names.push(name);
  }
  return names;
}
