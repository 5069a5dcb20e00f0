/** A line of two texts compared: in both, only in the earlier one, or only in the later one. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** Its number in the later text, from 1; for a removed line, in the earlier text. */
  readonly number: number;
}

/** Unchanged lines that are not shown. */
export interface Skipped {
  readonly kind: "skipped";
  readonly lines: number;
}

/** Most pairs of lines that are compared. A larger changed part is shown as replaced. */
const MAX_PAIRS = 1_000_000;
/** Unchanged lines that are shown around a change. */
const CONTEXT = 3;

/** The differences between two texts, by a longest common subsequence of lines. */
export function diffOf(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;

  const lines: DiffLine[] = [];
  const same = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) lines.push({ kind: "same", text: b[at] ?? "", number: at + 1 });
  };
  same(0, start);
  lines.push(...changesOf(a, b, start, a.length - end, b.length - end));
  same(b.length - end, b.length);
  return lines;
}

/** Compares `a` with `b` from the line `start` up to `endA` and `endB`. */
function changesOf(a: readonly string[], b: readonly string[], start: number, endA: number, endB: number): DiffLine[] {
  const [rows, columns] = [endA - start, endB - start];
  const width = columns + 1;
  const isCompared = rows * columns <= MAX_PAIRS;
  // For each pair of lines, the length of the common subsequence from there on.
  const common = new Uint32Array(isCompared ? (rows + 1) * width : 0);
  for (let row = rows - 1; isCompared && row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      common[at] =
        a[start + row] === b[start + column]
          ? (common[at + width + 1] ?? 0) + 1
          : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const [one, other] = [a[start + row] ?? "", b[start + column] ?? ""];
    const at = row * width + column;
    if (isCompared && row < rows && column < columns && one === other) {
      lines.push({ kind: "same", text: other, number: start + column + 1 });
      row += 1;
      column += 1;
    } else if (
      row < rows &&
      (column === columns || !isCompared || (common[at + width] ?? 0) >= (common[at + 1] ?? 0))
    ) {
      lines.push({ kind: "removed", text: one, number: start + row + 1 });
      row += 1;
    } else {
      lines.push({ kind: "added", text: other, number: start + column + 1 });
      column += 1;
    }
  }
  return lines;
}

/** The changes with the lines around them; other unchanged lines are skipped. */
export function shortened(lines: readonly DiffLine[]): (DiffLine | Skipped)[] {
  const near = new Set<number>();
  for (const [at, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    for (let by = -CONTEXT; by <= CONTEXT; by += 1) near.add(at + by);
  }
  const shown: (DiffLine | Skipped)[] = [];
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1);
    if (near.has(at)) shown.push(line);
    else if (last?.kind === "skipped") shown[shown.length - 1] = { kind: "skipped", lines: last.lines + 1 };
    else shown.push({ kind: "skipped", lines: 1 });
  }
  return shown;
}
