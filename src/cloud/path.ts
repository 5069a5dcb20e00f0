/** A name in a path: begins and ends with a letter, digit or `_`; inside also `-` and `.`. */
const NAME = "\\w(?:[\\w.-]*\\w)?";

/** A segment of a route's path that captures a name. */
export function namedSegment(parameter: string): string {
  return `:${parameter}{${NAME}}`;
}
