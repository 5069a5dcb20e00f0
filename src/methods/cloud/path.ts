import { tagValueOfPath } from "./role-tag/tag-value.ts";

/** A name in a path: begins and ends with a letter, digit or `_`; inside also `-` and `.`. */
const NAME = "\\w(?:[\\w.-]*\\w)?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);

/**
 * A path below a mount of this method in the spelling that names what it means: by the present names of the lists, a role in
 * lower case, a role tag as it is. So one rule of a policy holds for every way to the same thing.
 */
export function canonicalPath(path: string): string {
  return path
    .replace(/^((?:config\/)?(?:tidy\/)?)identity-whitelist(?=\/|$)/, "$1identity-accesslist")
    .replace(/^((?:config\/)?(?:tidy\/)?)roletag-blacklist(?=\/|$)/, "$1roletag-denylist")
    .replace(/^role$/, "roles")
    .replace(/^role\/[^/]+(?:\/tag)?$/, (role) => role.toLowerCase())
    .replace(/^(roletag-denylist\/)(.+)$/s, (_, place: string, tag: string) => place + tagValueOfPath(tag));
}

/** A segment of a route's path that captures a name. */
export function namedSegment(parameter: string): string {
  return `:${parameter}{${NAME}}`;
}

/** True when a text could be captured by such a segment. */
export function isName(text: string): boolean {
  return WHOLE_NAME.test(text);
}
