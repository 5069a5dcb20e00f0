import type { InventoryEntry } from "./entry.ts";

/** A text that is looked for in what is known of tokens. */
export interface Search {
  /** Characters: `MIN_SEARCH` to `MAX_SEARCH`. */
  readonly text: string;
  /** Ids of the entities of whose names, or of whose aliases' names, it is a part. */
  readonly entities: readonly string[];
}

/** Fewer characters are in no index. */
export const MIN_SEARCH = 3;
export const MAX_SEARCH = 128;
/** Characters of each text that are searched. */
const MAX_SEARCHED = 256;
/** The beginning of an accessor, in its own case. Shorter ones would begin accessors by chance. */
const ACCESSOR_BEGINNING = /^[\w-]{8,}$/;
/** Any part of one. To find it all accessors are read, so a word of which all letters are of one case is not taken for it. */
const ACCESSOR_PART = /^(?=.*[a-z])(?=.*[A-Z])[\w-]{8,83}$/;

/** True when the text is a part of a name, role, path or pair of metadata of a token, in any case, or of its accessor. */
export function isFound({ text, entities }: Search, token: InventoryEntry): boolean {
  return (
    entities.includes(token.entityId) ||
    searchedTexts(token).some(([, searched]) => hasPart(searched, text)) ||
    (isAccessorBeginning(text) && token.accessor.startsWith(text)) ||
    (isAccessorPart(text) && token.accessor.includes(text))
  );
}

/** True when `text` is a part of `searched` in any case. */
export function hasPart(searched: string, text: string): boolean {
  return lowered(searched).includes(lowered(text));
}

/** True for a text that accessors may begin with, or be. */
export function isAccessorBeginning(text: string): boolean {
  return ACCESSOR_BEGINNING.test(text);
}

/** True for a text that is looked for in the middle and at the end of accessors too. */
export function isAccessorPart(text: string): boolean {
  return ACCESSOR_PART.test(text);
}

/** The form in which texts are compared. */
export function lowered(text: string): string {
  return text.toLowerCase().toWellFormed();
}

/** The kinds of texts that a search looks in. */
const SEARCHED_KINDS = ["role", "name", "path", "meta"] as const;

/** What a search looks in, by kind. */
export function searchedTexts({
  role,
  displayName,
  path,
  metadata = {},
}: Pick<InventoryEntry, "role" | "displayName" | "path" | "metadata">): (readonly [
  kind: (typeof SEARCHED_KINDS)[number],
  text: string,
])[] {
  return [
    ["role", role],
    ["name", displayName],
    ["path", path],
    ...Object.entries(metadata).map(([name, value]) => ["meta", pairText(name, value)] as const),
  ];
}

/** A pair of metadata as it is searched. */
export function pairText(name: string, value: string): string {
  return `${name}=${value}`.slice(0, MAX_SEARCHED).toWellFormed();
}

/** The text of a term that a search looks in; null for another one. */
export function textOfTerm(term: string): string | null {
  const kind = SEARCHED_KINDS.find((one) => term.startsWith(`${one}:`));
  return kind === undefined ? null : term.slice(kind.length + 1);
}
