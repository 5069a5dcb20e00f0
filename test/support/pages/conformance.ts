import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ABSENT, LINES, LISTS } from "./conformance-lines.ts";
import { messagesSection } from "./messages.ts";

const PROJECT = join(import.meta.dirname, "../../..");
const LINE = "(?:[TAPHXCS]\\d{1,2}|CVE-\\d{4}-\\d+|GHSA-\\w{4})";
/** A string in a test; titles are strings. */
const TEXT = /(["'`])((?:(?!\1)[^\\\n]|\\.)+)\1/g;
/** Titles name the lines they show before the words (`T56, T57: takes children along`) or after them (`is refused (T60)`). */
const BEFORE = new RegExp(`^(${LINE}(?:(?:\\s*[-–,]\\s*| and )${LINE})*)(?::| |$)\\s*(.*)$`);
const AFTER = new RegExp(`^(.*)\\((${LINE}(?:, ${LINE})*)\\)$`);
const NAME = /([TAPHXCS])(\d{1,2})(?:\s*[-–]\s*[TAPHXCS](\d{1,2}))?|CVE-\d{4}-\d+|GHSA-\w{4}/g;

/** A test that shows a line. */
interface Shown {
  readonly line: string;
  readonly title: string;
  /** From the project's root. */
  readonly file: string;
}

/** The page that says for every line of the conformance lists which test shows it. */
export function conformancePage(): string {
  const shown = testFiles().flatMap(linesOfFile);
  const sections = LISTS.map(({ title, source, lines }) => {
    const rows = Object.entries(lines).map(([line, rule]) => `| ${line} | ${cellText(rule)} | ${cell(line, shown)} |`);
    return `## ${title}\n\nSource: ${source}.\n\n| Line | Rule | Shown by |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Conformance

Every line of the conformance lists of the token method, the system endpoints, policies and leases, and the published vulnerabilities of
the reference servers: the rule, and the tests that show it by name. The rules are in \`test/conformance/lines.json\`.
\`npm run docs:conformance\` writes this page from them and from the titles of the tests; a test fails when it is stale, or when a line has neither a test nor a reason.

${sections.join("\n")}
${messagesSection()}`;
}

/** Lines that neither a test shows nor a reason excuses. */
export function openLines(): string[] {
  const shown = new Set(
    testFiles()
      .flatMap(linesOfFile)
      .map(({ line }) => line),
  );
  return LINES.filter((line) => !shown.has(line) && !(line in ABSENT));
}

function cell(line: string, shown: readonly Shown[]): string {
  const tests = shown.filter((each) => each.line === line);
  const texts = [...new Set(tests.map(({ title, file }) => `${cellText(title)} (\`${file}\`)`))];
  const reason = ABSENT[line];
  if (texts.length === 0) return reason ? `Does not apply: ${reason}` : "**no test**";
  return (
    texts.slice(0, 3).join("<br>") +
    (texts.length > 3 ? `<br>and ${texts.length - 3} more` : "") +
    (reason ? `<br>${reason}` : "")
  );
}

function linesOfFile(path: string): Shown[] {
  const file = relative(PROJECT, path);
  return [...readFileSync(path, "utf8").matchAll(TEXT)].flatMap(([, , text = ""]) => {
    const before = BEFORE.exec(text);
    const after = AFTER.exec(text);
    const names = before?.[1] ?? after?.[2] ?? "";
    const title = (before?.[2] ?? after?.[1] ?? "").replace(/\\(.)/g, "$1").trim();
    return expand(names).map((line) => ({ line, title: title || names, file }));
  });
}

function expand(names: string): string[] {
  return [...names.matchAll(NAME)].flatMap(([name, letter, from, to]) => {
    if (!letter) return [name];
    const last = Number(to ?? from);
    return Array.from({ length: last - Number(from) + 1 }, (_, i) => `${letter}${Number(from) + i}`);
  });
}

function testFiles(): string[] {
  return readdirSync(join(PROJECT, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => join(PROJECT, "test", name));
}

function cellText(text: string): string {
  return text.replace(/\|/g, "\\|").replace(/</g, "&lt;");
}
