const NAME = "\\w(?:[\\w.-]*\\w)?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);
const MAX_NAME_LENGTH = 128;

/** The segment of a route's path that captures the name of a role. */
export const ROLE_SEGMENT = `:name{${NAME}}`;

/** True for a text that can be the name of a role. */
export function isRoleName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && WHOLE_NAME.test(text);
}

/** A path below a mount of this method with the role in lower case, so that one rule of a policy holds for every spelling. */
export function canonicalPath(path: string): string {
  return path.replace(/^role\/[^/]+$/, (role) => role.toLowerCase());
}
