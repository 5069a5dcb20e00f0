/** Where the console is. */
export const BASE = "/ui/";

/** The address of a page. Parts are encoded; parameters without a value are left out. */
export function href(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const words = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = words.length === 0 ? "" : `?${new URLSearchParams(words)}`;
  return BASE + parts.map(encodeURIComponent).join("/") + search;
}
