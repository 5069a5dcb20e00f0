/** Fewest characters of a line, whatever the indentation. */
const MIN_WIDTH = 20;

/**
 * Breaks a text into lines between its words. A word that is longer than a line, such as an accessor, has its own line
 * and stays whole: a terminal wraps it, and copies it as one word.
 *
 * @param width characters in a line.
 */
export function linesOf(text: string, width: number): string[] {
  const most = Math.max(width, MIN_WIDTH);
  const lines: string[] = [];
  for (const word of text.split(" ").filter((one) => one !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** After an option that is longer than this, its description begins on the next line. */
const MAX_HEAD = 30;

/**
 * Breaks the lines of a help text for another width. Options keep their columns; the forms of a call, and the example,
 * stay as they are.
 */
export function helpInLines(help: string, width: number): string {
  const paragraphs = help.trimEnd().split("\n\n");
  return `${paragraphs.map((paragraph) => paragraphInLines(paragraph.split("\n"), width)).join("\n\n")}\n`;
}

const OPTION = /^ {2}\S/;
/** Calls are not broken: they are to be copied. */
const CALL = /^(?:Usage: |Example:$)/;

function paragraphInLines(lines: readonly string[], width: number): string {
  const [first = ""] = lines;
  if (CALL.test(first)) return lines.join("\n");
  if (!OPTION.test(first)) return linesOf(lines.join(" "), width).join("\n");
  const options: { head: string; about: string }[] = [];
  for (const line of lines) {
    const [, head = "", about = ""] = /^( {2}\S+(?: \S+)*)(?: {2,}(.*))?$/.exec(line) ?? [];
    const last = options.at(-1);
    if (head !== "") options.push({ head, about });
    else if (last) last.about = `${last.about} ${line.trim()}`.trim();
  }
  const margin = Math.max(...options.map(({ head }) => head.length).filter((length) => length <= MAX_HEAD)) + 2;
  const indent = " ".repeat(margin);
  return options.flatMap(({ head, about }) => optionLines(head, linesOf(about, width - margin), indent)).join("\n");
}

function optionLines(head: string, about: readonly string[], indent: string): string[] {
  if (head.length + 2 > indent.length) return [head, ...about.map((line) => indent + line)];
  return about.length === 0 ? [head] : about.map((line, at) => (at === 0 ? head.padEnd(indent.length) : indent) + line);
}
