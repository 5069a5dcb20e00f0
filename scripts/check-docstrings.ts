import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(import.meta.dirname, "..");
/** A class whose public methods are callable by RPC. */
const REMOTE_CLASS =
  /^export (?:abstract )?class \w+(?:<.*>)? extends (?:DurableObject|GroveObject|MountObject|StoredObject|WorkerEntrypoint)\b/;
const METHOD = /^ {2}(?:override )?(?:async )?(?<name>[a-z]\w*)(?:<.*>)?\(/;
/** Methods that only the platform calls. */
const OF_THE_PLATFORM = ["constructor", "alarm", "fetch"];

/** RPC methods of a source that have no docstring above them, as `file:line: name`. */
function undescribed(file: string): string[] {
  const lines = readFileSync(join(PROJECT, file), "utf8").split("\n");
  const first = lines.findIndex((line) => REMOTE_CLASS.test(line));
  if (first === -1) return [];
  const end = lines.indexOf("}", first);
  return lines.slice(first, end).flatMap((line, index) => {
    const name = METHOD.exec(line)?.groups?.name;
    if (name === undefined || OF_THE_PLATFORM.includes(name)) return [];
    const above = lines[first + index - 1] ?? "";
    return above.endsWith("*/") ? [] : [`${file}:${first + index + 1}: ${name}`];
  });
}

const missing = globSync("src/**/*.ts", { cwd: PROJECT }).sort().flatMap(undescribed);
for (const place of missing) console.error(`${place} can be called by RPC and has no docstring`);
process.exit(missing.length === 0 ? 0 : 1);
