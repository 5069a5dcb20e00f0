import { isPageValue, type ObjectPage, type PagePosition } from "../storage/object-pages.ts";
import { isObject } from "../wire/fields.ts";
import { type ObjectPlace, placeOf } from "./object-keys.ts";

/** Characters of the objects in a part, unless one of them is larger. */
export const PART_CHARACTERS = 1_048_576;
/** Characters of an object that are read in one moment; a larger one is read in pages. */
export const PAGE_CHARACTERS = 8 * 1_048_576;

/** Parts that a backup can have. */
export const MAX_PARTS = 100_000;

/** A page of an object, as a part has it. Trees of one form have the same SQL: it is in the part once. */
export interface SavedPage extends ObjectPlace, Omit<ObjectPage, "schema"> {
  /** Its number among the texts of the part; null after the first page. */
  readonly schema: number | null;
}

/** A part of a backup, before it is compressed. */
export interface Part {
  readonly schemas: readonly (readonly string[])[];
  readonly objects: readonly SavedPage[];
}

/** How far a backup is: objects are read in the order of their keys. */
export interface Position {
  /** Key of the last object that was read; "" for none. */
  readonly after: string;
  /** The object that comes next, when it is read in pages: its key, and its next page (null: the first). */
  readonly within: { readonly key: string; readonly page: PagePosition | null; readonly tries: number } | null;
}

export const FIRST_POSITION: Position = { after: "", within: null };

/** Reads a position that was given out before, from its text; null for another text. Only callers with sudo send one. */
export function readPosition(text: string): Position | null {
  try {
    const read: unknown = text === "" ? FIRST_POSITION : JSON.parse(text);
    if (!isObject(read) || typeof read.after !== "string") return null;
    const { after, within } = read;
    if (within === null) return { after, within: null };
    if (!isObject(within) || typeof within.key !== "string" || typeof within.tries !== "number") return null;
    const page = within.page === null ? null : readPagePosition(within.page);
    if (!placeOf(within.key) || page === undefined) return null;
    return { after, within: { key: within.key, tries: within.tries, page } };
  } catch {
    return null;
  }
}

function readPagePosition(value: unknown): PagePosition | undefined {
  if (!isObject(value)) return undefined;
  const { page, table, after, mark } = value;
  if (typeof page !== "number" || typeof table !== "string" || typeof mark !== "string") return undefined;
  const key = after === null ? null : Array.isArray(after) && after.every(isPageValue) ? after : undefined;
  return key === undefined ? undefined : { page, table, after: key, mark };
}
