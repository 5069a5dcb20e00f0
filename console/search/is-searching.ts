import type { Found } from "./search-result.ts";
import type { Itself } from "./text-result.ts";

/** The answer of the server about a typed text. */
export interface Asked extends Itself {
  readonly text: string;
}

/**
 * True while the answer for the text is pending. Also true while the names are pending and nothing else is found: a
 * name can still match.
 *
 * @param names null until they are read
 */
export const isSearching = (asked: Asked, text: string, names: readonly Found[] | null): boolean =>
  asked.text !== text || (names === null && asked.found.length === 0 && asked.note === "");
