/** The parsed path of a rule. */
export interface Pattern {
  /**
   * `exact` matches one path, `prefix` every path that begins with `text`. `segments` has at least one whole segment
   * `+`, which matches any segment.
   */
  readonly kind: "exact" | "prefix" | "segments";
  /** The path without its trailing `*`. */
  readonly text: string;
  /** True when the path ended in `*`: anything may follow `text`. */
  readonly open: boolean;
  /** Offset of the first `+` in `text`, even inside a segment; the length of `text` when no whole segment is `+`. */
  readonly firstWildcard: number;
  readonly wildcards: number;
}

/** The path of a rule as it is written, without templates. The reverse of `parsePattern`. */
export function patternText({ text, open }: Pattern): string {
  return open ? `${text}*` : text;
}

/** Parses the path of a rule. A `+` inside a segment, and a `*` that is not the last character, are literal. */
export function parsePattern(path: string): Pattern {
  const open = path.endsWith("*");
  const text = open ? path.slice(0, -1) : path;
  const wildcards = text.split("/").filter((segment) => segment === "+").length;
  const firstWildcard = wildcards > 0 ? text.indexOf("+") : text.length;
  const kind = wildcards > 0 ? "segments" : open ? "prefix" : "exact";
  return { kind, text, open, firstWildcard, wildcards };
}

/** True when the path contains `+*`, which is ambiguous: it could mean one segment or any number of segments. */
export function hasForbiddenWildcards(path: string): boolean {
  return path.includes("+*");
}

/**
 * True when `a` takes precedence over `b` if both match a path and neither is exact. The pattern whose first wildcard
 * comes later wins; then one that is not open; then fewer `+`; then the longer text; then the lexicographically larger
 * one.
 */
export function decidesBefore(a: Pattern, b: Pattern): boolean {
  if (a.firstWildcard !== b.firstWildcard) return a.firstWildcard > b.firstWildcard;
  if (a.open !== b.open) return b.open;
  if (a.wildcards !== b.wildcards) return a.wildcards < b.wildcards;
  if (a.text.length !== b.text.length) return a.text.length > b.text.length;
  return a.text > b.text;
}
