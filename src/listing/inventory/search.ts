import type { InventoryEntry } from "./entry.ts";

/** A text to search for in the entries of tokens. */
export interface Search {
  /** `MIN_SEARCH` to `MAX_SEARCH` characters. */
  readonly text: string;
  /** Ids of the entities whose name, or the name of an alias of theirs, contains the text. */
  readonly entities: readonly string[];
}

/** Minimum length of a search in characters: the index has sequences of three. */
export const MIN_SEARCH = 3;
export const MAX_SEARCH = 128;
/** Length (characters) to which pairs of metadata are cut off for the search. */
const MAX_SEARCHED = 256;
/** A text that may be the beginning of an accessor; case matters. Shorter texts would match accessors by chance. */
const ACCESSOR_BEGINNING = /^[\w-]{8,}$/;
/** A text that may be a part of an accessor. All accessors are read for it, so words of one case are excluded. */
const ACCESSOR_PART = /^(?=.*[a-z])(?=.*[A-Z])[\w-]{8,83}$/;

/** True when the search finds a token: by entity, name, role, path or metadata (ignoring case), or by accessor. */
export function isFound({ text, entities }: Search, token: InventoryEntry): boolean {
  return (
    entities.includes(token.entityId) ||
    searchedTexts(token).some(([, searched]) => hasPart(searched, text)) ||
    (isAccessorBeginning(text) && token.accessor.startsWith(text)) ||
    (isAccessorPart(text) && token.accessor.includes(text))
  );
}

/** True when `searched` contains `text`, ignoring case. */
export function hasPart(searched: string, text: string): boolean {
  return lowered(searched).includes(lowered(text));
}

/** True for a text that may be an accessor, or the beginning of one. */
export function isAccessorBeginning(text: string): boolean {
  return ACCESSOR_BEGINNING.test(text);
}

/** True for a text that is also searched for in the middle and at the end of accessors. */
export function isAccessorPart(text: string): boolean {
  return ACCESSOR_PART.test(text);
}

/** Returns the form in which texts are compared: lower case, and well-formed Unicode. */
export function lowered(text: string): string {
  return text.toLowerCase().toWellFormed();
}

const SEARCHED_KINDS = ["role", "name", "path", "meta"] as const;

type SearchedText = readonly [kind: (typeof SEARCHED_KINDS)[number], text: string];

/** Returns the texts of a token that a search covers, with their kinds. */
export function searchedTexts(token: Pick<InventoryEntry, "role" | "displayName" | "path" | "metadata">) {
  const pairs = Object.entries(token.metadata ?? {});
  const texts: SearchedText[] = [
    ["role", token.role],
    ["name", token.displayName],
    ["path", token.path],
    ...pairs.map(([name, value]): SearchedText => ["meta", pairText(name, value)]),
  ];
  return texts;
}

/** Formats a pair of metadata for the search, cut off to `MAX_SEARCHED` characters. */
export function pairText(name: string, value: string): string {
  return `${name}=${value}`.slice(0, MAX_SEARCHED).toWellFormed();
}

/** Returns the text of a term if a search covers it; else null. */
export function textOfTerm(term: string): string | null {
  const kind = SEARCHED_KINDS.find((one) => term.startsWith(`${one}:`));
  return kind === undefined ? null : term.slice(kind.length + 1);
}
