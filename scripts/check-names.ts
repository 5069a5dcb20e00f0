/** Fails when two files of src export the same name: a reader would have to open both to know which one is meant. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dirname, "../src");
const EXPORT = /^export (?:declare )?(?:abstract )?(?:async )?(?:type|interface|class|function|const) (\w+)/gm;

const files = new Map<string, ReadonlySet<string>>();
for (const file of globSync("**/*.ts", { cwd: SOURCE })) {
  for (const [, name = ""] of readFileSync(join(SOURCE, file), "utf8").matchAll(EXPORT)) {
    files.set(name, new Set([...(files.get(name) ?? []), file]));
  }
}
const homonyms = [...files].filter(([, of]) => of.size > 1);
for (const [name, of] of homonyms) console.log(`${name} is exported by ${[...of].join(" and ")}: rename one of them`);
process.exitCode = homonyms.length > 0 ? 1 : 0;
