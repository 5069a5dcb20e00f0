import { flow, type Part } from "./prose.ts";
import type { Terminal } from "./terminal.ts";

/** A node of a tree of text. */
export interface Node {
  readonly label: readonly Part[];
  readonly children: readonly Node[];
}

/** Characters that a branch moves to the right. */
const BRANCH = 4;
/** Indentation of the further lines of a label, so that they do not look like nodes. */
const INDENT = 2;

/** The lines of a tree, with its branches drawn. A label that does not fit the terminal has several lines. */
export function linesOfTree(terminal: Pick<Terminal, "colours" | "columns">, node: Node): string[] {
  return drawn(terminal, node, terminal.columns);
}

function drawn(terminal: Pick<Terminal, "colours">, { label, children }: Node, width: number | null): string[] {
  const [first = "", ...more] = flow(terminal, label, width === null ? null : width - INDENT);
  const beside = children.length === 0 ? "  " : "│ ";
  return [first, ...more.map((line) => beside + line), ...drawChildren(terminal, children, width)];
}

function drawChildren(terminal: Pick<Terminal, "colours">, children: readonly Node[], width: number | null): string[] {
  return children.flatMap((child, at) => {
    const isLast = at === children.length - 1;
    const [first = "", ...below] = drawn(terminal, child, width === null ? null : width - BRANCH);
    return [`${isLast ? "└── " : "├── "}${first}`, ...below.map((line) => `${isLast ? "    " : "│   "}${line}`)];
  });
}
