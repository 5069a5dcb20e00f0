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
