/** A name in a path: begins and ends with a letter, digit or `_`; inside also `-` and `.`. */
const NAME = "\\w(?:[\\w.-]*\\w)?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);

/** A segment of a route's path that captures a name. */
export function namedSegment(parameter: string): string {
  return `:${parameter}{${NAME}}`;
}

/** True when `text` could be captured by such a segment. */
export function isName(text: string): boolean {
  return WHOLE_NAME.test(text);
}
