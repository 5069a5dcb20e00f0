import { tagValueOfPath } from "./role-tag/tag-value.ts";

/** A name in a path: begins and ends with a letter, digit or `_`; inside also `-` and `.`. */
const NAME = "\\w(?:[\\w.-]*\\w)?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);

/** A path of this method in the spelling that names what it means: a role in lower case, a role tag as it is. */
export function spellPath(path: string): string {
  return path
    .replace(/\/role\/[^/]+(?:\/tag)?$/, (end) => end.toLowerCase())
    .replace(
      /^(.*\/roletag-(?:deny|black)list\/)(.+)$/s,
      (_, place: string, tag: string) => place + tagValueOfPath(tag),
    );
}

/** A segment of a route's path that captures a name. */
export function namedSegment(parameter: string): string {
  return `:${parameter}{${NAME}}`;
}

/** True when a text could be captured by such a segment. */
export function isName(text: string): boolean {
  return WHOLE_NAME.test(text);
}
