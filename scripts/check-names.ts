/**
 * Fails when two files of src export the same name, since a reader would have to open both to know which one is meant, or
 * when no other file uses an export of src: it is local, or not needed.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(import.meta.dirname, "..");
const EXPORT = /^export (?:declare )?(?:abstract )?(?:async )?(?:type|interface|class|function\*?|const) (\w+)/gm;
const WORD = /\w+/g;

const sources = globSync("{src,client,console,gateway,scripts,bench,test,examples}/**/*.{ts,tsx}", {
  cwd: PROJECT,
  exclude: (name) => name.includes("node_modules"),
});
/** Number of files that have the word, by word. */
const uses = new Map<string, number>();
const exporters = new Map<string, string[]>();
for (const file of sources) {
  const text = readFileSync(join(PROJECT, file), "utf8");
  for (const [word] of new Set(text.match(WORD) ?? []).entries()) uses.set(word, (uses.get(word) ?? 0) + 1);
  if (!file.startsWith("src/")) continue;
  for (const [, name = ""] of text.matchAll(EXPORT)) exporters.set(name, [...(exporters.get(name) ?? []), file]);
}

const problems = [...exporters].flatMap(([name, files]) => {
  const of = [...new Set(files)].join(" and ");
  if (of.includes(" and ")) return [`${name} is exported by ${of}: rename one of them`];
  return uses.get(name) === 1 ? [`${name} is exported by ${of}, and no other file uses it`] : [];
});
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
