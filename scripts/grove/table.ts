import { styled, type Terminal } from "./terminal.ts";

const GAP = "  ";

/** A table of texts without line ends. The last column has no width of its own. */
export function renderTable(
  terminal: Pick<Terminal, "colours">,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join(GAP)
      .trimEnd();
  return [styled(terminal, "bold", line(head)), ...rows.map(line)];
}
