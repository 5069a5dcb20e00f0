import { parseHcl } from "./hcl.ts";
import { parseJson } from "./json.ts";
import { lineAt, objectsOf } from "./syntax.ts";
import { decodePolicyText } from "./text.ts";

/** The lines (from 1) of a policy text where the blocks of a path begin; none in a text that can't be read. */
export function linesOfRule(text: string, writtenPath: string): number[] {
  const source = decodePolicyText(text);
  const syntax = source.trimStart().startsWith("{") ? parseJson(source) : parseHcl(source);
  const entries = syntax.ok ? syntax.value.entries.filter(({ key }) => key === "path") : [];
  const paths = entries.flatMap(({ value }) => objectsOf(value) ?? []).flatMap((object) => object.entries);
  const blocks = paths.filter(({ key }) => key.replace(/^\//, "") === writtenPath);
  return blocks.map(({ at }) => lineAt(source, at));
}
