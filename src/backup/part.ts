import { isPageValue, type ObjectPage, type PagePosition } from "../storage/object-pages.ts";
import { isObject } from "../wire/fields.ts";
import { type ObjectPlace, placeOf } from "./object-keys.ts";

/** Characters of the objects in a part. One larger object can exceed it. */
export const PART_CHARACTERS = 1_048_576;
/** Characters of an object that are read at once. A larger object is read in pages. */
export const PAGE_CHARACTERS = 8 * 1_048_576;

/** Maximum number of parts of a backup. */
export const MAX_PARTS = 100_000;

/** A page of an object in a part. Many objects have the same schema, so a part has each schema once. */
export interface SavedPage extends ObjectPlace, Omit<ObjectPage, "schema"> {
  /** Index in `schemas` of the part; null for all but the first page of an object. */
  readonly schema: number | null;
}

/** A part of a backup, before compression. */
export interface Part {
  readonly schemas: readonly (readonly string[])[];
  readonly objects: readonly SavedPage[];
}

/** The position of a backup between two parts. Objects are read in the order of their keys. */
export interface Position {
  /** Key of the last object that was read completely; "" for none. */
  readonly after: string;
  /** The next object, if it is read in pages: its key, and the position of its next page (null: the first). */
  readonly within: { readonly key: string; readonly page: PagePosition | null; readonly tries: number } | null;
}

/** Reads a position that an earlier answer contained; null for another text. Only callers with sudo send one. */
export function readPosition(text: string): Position | null {
  if (text === "") return { after: "", within: null };
  try {
    const read: unknown = JSON.parse(text);
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
