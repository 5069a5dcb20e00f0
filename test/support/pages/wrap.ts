/** Columns of a line of the pages. */
const WIDTH = 120;
/** Words of a line; a blank within backticks is part of a word. */
const WORD = /(?:`[^`]*`|[^\s`])+/g;
/** What would be a mark of Markdown at the beginning of a line. */
const MARK = /^(?:[-+*]$|[>|#]|\d+[.)]$)/;

/** Breaks the lines of a page at blanks; those of an item of a list go on below its text. Headings stay whole. */
export function wrapped(page: string): string {
  return page
    .split("\n")
    .flatMap((line) => (line.length <= WIDTH || line.startsWith("#") ? [line] : wrappedLine(line)))
    .join("\n");
}

function wrappedLine(line: string): string[] {
  const indent = line.startsWith("- ") ? "  " : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.match(WORD) ?? []) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (longer.length <= WIDTH || current === "" || MARK.test(word)) {
      current = longer;
      continue;
    }
    lines.push(current);
    current = indent + word;
  }
  return [...lines, current];
}
