import { isName } from "../../wire/path-name.ts";

const MAX_NAME_LENGTH = 128;

/** True for a string that can be the name of a role. */
export function isRoleName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && isName(text);
}

/** A path below a mount of this method with the role in lower case, so that one rule of a policy holds for every spelling. */
export function canonicalPath(path: string): string {
  return path.replace(/^role\/[^/]+$/, (role) => role.toLowerCase());
}
