/** A name in a path. It begins and ends with a letter, a digit or `_`, and can contain `-` and `.`. */
const NAME = "\\w(?:[\\w.-]*\\w)?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);

/** Returns the segment of a route's path that captures a name. */
export function namedSegment(parameter: string): string {
  return `:${parameter}{${NAME}}`;
}

/** True for a text that `namedSegment` captures. */
export function isName(text: string): boolean {
  return WHOLE_NAME.test(text);
}
