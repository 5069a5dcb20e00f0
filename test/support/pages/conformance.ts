import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ABSENT, LINES, LISTS } from "./conformance-lines.ts";
import { messagesSection } from "./messages.ts";
import { wrapped } from "./wrap.ts";

const PROJECT = join(import.meta.dirname, "../../..");
/** A string in a test; titles are strings. */
const TEXT = /(["'`])((?:(?!\1)[^\\\n]|\\.)+)\1/g;

/** The titles of the tests that show each line, by the test's file (from the project's root). */
type ShownBy = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const SHOWN_BY: ShownBy = JSON.parse(readFileSync(join(PROJECT, "test/conformance/shown-by.json"), "utf8"));

/** The page that says where the tests of the lines are: by list and test file, the lines that the file shows. */
export function conformancePage(): string {
  const sections = LISTS.map(({ title, source, lines }) => {
    const names = Object.keys(lines);
    const pairs = names.flatMap((line) => filesOf(line).map((file) => ({ line, file })));
    const shown = [...Map.groupBy(pairs, ({ file }) => file)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([file, same]) => `- \`${file}\`: ${same.map(({ line }) => line).join(", ")}`);
    const excused = names.filter((line) => line in ABSENT);
    const reasons = [...Map.groupBy(excused, (line) => ABSENT[line] ?? "")].map(
      ([reason, same]) => `- ${same.join(", ")}: ${reason}`,
    );
    const rest = reasons.length === 0 ? "" : `\nDoes not apply:\n\n${reasons.join("\n")}\n`;
    return `## ${title}\n\nSource: ${source}.\n\n${shown.join("\n")}\n${rest}`;
  });
  return wrapped(`# Conformance

Which test file, below \`test/\`, shows which lines of the conformance lists and which published vulnerabilities of the reference servers. \`test/conformance/lines.json\` has the rule of each line, \`shown-by.json\` beside it the titles of its tests. \`npm run docs:conformance\` writes this page.

${sections.join("\n")}
${messagesSection()}`);
}

/** Lines that neither a test shows nor a reason excuses. */
export function openLines(): string[] {
  return LINES.filter((line) => !(line in SHOWN_BY) && !(line in ABSENT));
}

/** Lines and titles of `shown-by.json` that no list and no test has: `line: title (file)`. */
export function lostTests(): string[] {
  const titles = new Map<string, ReadonlySet<string>>();
  return Object.entries(SHOWN_BY).flatMap(([line, files]) =>
    Object.entries(files).flatMap(([file, shown]) => {
      const there = titles.get(file) ?? textsOf(file);
      titles.set(file, there);
      const lost = LINES.includes(line) ? shown.filter((title) => !there.has(title)) : shown;
      return lost.map((title) => `${line}: ${title} (${file})`);
    }),
  );
}

/** The test files that show a line, from `test/` and without their ending. */
function filesOf(line: string): string[] {
  return Object.keys(SHOWN_BY[line] ?? {}).map((file) => file.replace(/^test\//, "").replace(/\.test\.ts$/, ""));
}

/** The strings of a test file, as they read when it runs. */
function textsOf(file: string): ReadonlySet<string> {
  const path = join(PROJECT, file);
  if (!existsSync(path)) return new Set();
  const texts = [...readFileSync(path, "utf8").matchAll(TEXT)];
  return new Set(texts.map(([, , text = ""]) => text.replace(/\\(.)/g, "$1").trim()));
}
