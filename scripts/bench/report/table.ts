/** Lines of a table for a terminal: the first column to the left, the others to the right. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    widths
      .map((width, column) => pad(row[column] ?? "", width, column === 0))
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

/** The same as a Markdown table. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = header.map((_, column) => Math.max(4, ...all.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => pad(row[column] ?? "", width, column === 0)).join(" | ")} |`;
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(all[0] ?? []), `| ${rule.join(" | ")} |`, ...all.slice(1).map(line)].join("\n");
}

function pad(text: string, width: number, left: boolean): string {
  return left ? text.padEnd(width) : text.padStart(width);
}
