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

/** A line of a tree with what hangs below it. */
export interface Node {
  readonly label: string;
  readonly children: readonly Node[];
}

/** The lines of a tree, the branches drawn. */
export function linesOfTree({ label, children }: Node): string[] {
  return [label, ...drawChildren(children)];
}

function drawChildren(children: readonly Node[]): string[] {
  return children.flatMap((child, at) => {
    const isLast = at === children.length - 1;
    const [first = "", ...below] = linesOfTree(child);
    return [`${isLast ? "└── " : "├── "}${first}`, ...below.map((line) => `${isLast ? "    " : "│   "}${line}`)];
  });
}
