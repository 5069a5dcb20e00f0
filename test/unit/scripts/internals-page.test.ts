import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const PROJECT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(PROJECT, path), "utf8");
const page = read("docs/internals.md");

/** Texts in backticks. */
const codeOf = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

/** Paths of a text; a bare file name is in the directory of the path before it. */
function pathsOf(text: string): string[] {
  const paths: string[] = [];
  for (const code of codeOf(text)) {
    if (/^(src|gateway|scripts|test)\/[\w./-]+$/.test(code)) paths.push(code);
    else if (/^[\w-]+\.ts$/.test(code)) paths.push(join(dirname(paths.at(-1) ?? ""), code));
  }
  return paths;
}

/** Functions, as in `decide()`, and what has its file in parentheses after it, as in `Copies` (`src/…`). */
const namesOf = (text: string) => [
  ...[...text.matchAll(/`(\w+)\(\)`/g)].map(([, name = ""]) => name),
  ...[...text.matchAll(/`(\w+)`\s+\(`src\/[^`]+\.ts`\)/g)].map(([, name = ""]) => name),
];

const blocks = page.split(/\n\n|\n(?=\|)/);
const named = blocks.flatMap((text) => namesOf(text).map((name) => ({ name, text })));
const table = page.split("\n## Where a rule is")[1]?.split("\n## ")[0] ?? "";
const places = [...table.matchAll(/^\| (.+\?) \| (.+) \|$/gm)];

describe("docs/internals.md", () => {
  it.each(places.map(([, question = "", where = ""]) => ({ question, where })))(
    "names a place for: $question",
    ({ where }) => {
      expect(pathsOf(where)).not.toEqual([]);
    },
  );

  it("names only files and directories that exist", () => {
    const paths = pathsOf(page);
    expect(paths.length).toBeGreaterThan(places.length);
    const isThere = (path: string) =>
      existsSync(join(PROJECT, path)) && statSync(join(PROJECT, path)).isDirectory() === path.endsWith("/");
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });

  it.each(named)("names $name beside the file that defines it", ({ name, text }) => {
    const definition = new RegExp(`(?:function|class|const) ${name}\\b`);
    expect(pathsOf(text).some((path) => path.endsWith(".ts") && definition.test(read(path)))).toBe(true);
  });
});
