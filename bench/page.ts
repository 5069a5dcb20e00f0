/** A number with three digits that count, and commas between thousands. */
export function amount(value: number): string {
  if (value === 0) return "0";
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
  const rounded = value >= 1000 ? Number(value.toPrecision(3)) : value;
  return rounded.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A Markdown table, the first column to the left and the others to the right. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = header.map((_, column) => Math.max(4, ...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => {
    const cells = widths.map((width, at) =>
      at === 0 ? (row[at] ?? "").padEnd(width) : (row[at] ?? "").padStart(width),
    );
    return `| ${cells.join(" | ")} |`;
  };
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(all[0] ?? []), `| ${rule.join(" | ")} |`, ...all.slice(1).map(line)].join("\n");
}

/**
 * Puts tables into a page that people write: each between the comments `<!-- begin NAME -->` and `<!-- end NAME -->`.
 *
 * @throws when the page has no place for one of them.
 */
export function fillPage(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, content]) => {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`the page has no place for ${name}`);
    return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
  }, page);
}
