import { isObject } from "../../wire/fields.ts";

/** A JSON object whose names are unique, also when letter case is ignored. */
export type JsonObject = { readonly [name: string]: unknown };

/** Deepest nesting that is read; the values of this method nest less deep. */
const MAX_DEPTH = 8;

/**
 * Parses a JSON object strictly. Readers of JSON disagree about repeated names (first or last wins) and some ignore
 * letter case, so one signed text could mean two things: an object at any depth in which two names are equal, or differ
 * only in case, is null. So is everything that is not an object, and deep nesting.
 */
export function parseStrictObject(text: string): JsonObject | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value) || !hasUniqueNames(text)) return null;
  return value;
}

/** A form of a name that is equal for all letter cases, those of long s and the Kelvin sign included. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Scans text that is known to be JSON: only strings, brackets and the colon after a name matter. */
function hasUniqueNames(json: string): boolean {
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g;
  const open: Set<string>[] = [];
  for (const match of json.matchAll(token)) {
    const text = match[0];
    if (text === "{" || text === "[") {
      if (open.length === MAX_DEPTH) return false;
      open.push(new Set());
    } else if (text === "}" || text === "]") {
      open.pop();
    } else if (match[1] !== undefined) {
      const name = foldCase(JSON.parse(text.slice(0, -match[1].length)));
      const names = open.at(-1);
      if (names === undefined || names.has(name)) return false;
      names.add(name);
    }
  }
  return true;
}
