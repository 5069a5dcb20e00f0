/** The path of a rule, taken apart. */
export interface Pattern {
  /**
   * `exact` matches one path, `prefix` everything that begins with `text`, `segments` has `+` in the place of at least
   * one whole segment.
   */
  readonly kind: "exact" | "prefix" | "segments";
  /** The path without its last `*`. */
  readonly text: string;
  /** True when the path ended in `*`: anything may follow `text`. */
  readonly open: boolean;
  /** Where in `text` the first `+` stands, also one inside a segment; its length when no whole segment is `+`. */
  readonly firstWildcard: number;
  /** How many segments are `+`. */
  readonly wildcards: number;
}

/** Reads the path of a rule. A `+` or `*` elsewhere than as a whole segment or as the last character is literal. */
export function parsePattern(path: string): Pattern {
  const open = path.endsWith("*");
  const text = open ? path.slice(0, -1) : path;
  const wildcards = text.split("/").filter((segment) => segment === "+").length;
  const firstWildcard = wildcards > 0 ? text.indexOf("+") : text.length;
  const kind = wildcards > 0 ? "segments" : open ? "prefix" : "exact";
  return { kind, text, open, firstWildcard, wildcards };
}

/** `+*` could mean one segment or any number of them; it is refused instead of guessed. */
export function hasForbiddenWildcards(path: string): boolean {
  return path.includes("+*");
}

/**
 * Which of two patterns decides when both match a path and neither is exact: the one whose first wildcard comes later;
 * then one that is not open; then fewer `+`; then the longer text; then the lexicographically larger one.
 */
export function decidesBefore(a: Pattern, b: Pattern): boolean {
  if (a.firstWildcard !== b.firstWildcard) return a.firstWildcard > b.firstWildcard;
  if (a.open !== b.open) return b.open;
  if (a.wildcards !== b.wildcards) return a.wildcards < b.wildcards;
  if (a.text.length !== b.text.length) return a.text.length > b.text.length;
  return a.text > b.text;
}
