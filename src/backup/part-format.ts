import { gunzipSync } from "node:zlib";
import { inGroups } from "../base/parallel.ts";
import { err, ok, type Result } from "../base/result.ts";
import { toHex } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { isPageValue, type ObjectPage, type PagePosition } from "../storage/object-pages.ts";
import type { Installation } from "../system/installation.ts";
import { isObject } from "../wire/fields.ts";
import { type ObjectPlace, objectAt, objectPlaceOf, objectsAfter } from "./saved-objects.ts";

/** Characters of the objects in a part. One larger object can exceed it. */
const PART_CHARACTERS = 1_048_576;
/** Characters of an object that are read at once. A larger object is read in pages. */
const PAGE_CHARACTERS = 8 * 1_048_576;
/** Maximum size of the text of a part in bytes. The last row of a page can exceed the limit of the page. */
export const MAX_PART_BYTES = 4 * (PART_CHARACTERS + PAGE_CHARACTERS);

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
export interface PartPosition {
  /** Key of the last object that was read completely; "" for none. */
  readonly after: string;
  /** The next object, if it is read in pages: its key, and the position of its next page (null: the first). */
  readonly within: { readonly key: string; readonly page: PagePosition | null; readonly tries: number } | null;
}

/** Reads a position that an earlier answer contained; null for another text. Only callers with sudo send one. */
export function readPosition(env: Env, text: string): PartPosition | null {
  if (text === "") return { after: "", within: null };
  try {
    const read: unknown = JSON.parse(text);
    if (!isObject(read) || typeof read.after !== "string") return null;
    const { after, within } = read;
    if (within === null) return { after, within: null };
    if (!isObject(within) || typeof within.key !== "string" || typeof within.tries !== "number") return null;
    const page = within.page === null ? null : readPagePosition(within.page);
    if (!objectPlaceOf(env, within.key) || page === undefined) return null;
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

/** Number of objects that are looked up at once. The platform limits the calls of a request. */
export const FOUND_AT_ONCE = 500;
/** Number of objects of a class that are read at once. Their contents must fit in the memory of an isolate. */
const GROUP = 6;
/** How often a large object is read from its beginning, because it changed before its last page was read. */
const MAX_TRIES = 10;

/** Makes a part of pages, by the keys of their objects. `next`: where the next part begins; null after the last. */
function partOf(env: Env, pages: ReadonlyMap<string, ObjectPage>, next: PartPosition | null) {
  const firstPages = [...pages.values()].filter(({ schema }) => schema.length > 0);
  const schemas = [...new Set(firstPages.map(({ schema }) => JSON.stringify(schema)))];
  const objects = [...pages].map(
    ([key, { schema, ...content }]): SavedPage => ({
      ...placeAt(env, key),
      ...content,
      schema: schema.length === 0 ? null : schemas.indexOf(JSON.stringify(schema)),
    }),
  );
  const rows = objects.flatMap(({ tables }) => tables).reduce((sum, table) => sum + table.rows.length, 0);
  const part: Part = { schemas: schemas.map((text) => JSON.parse(text)), objects };
  return ok({ part, rows, next });
}

/**
 * Reads the part of a backup that begins at `from`, up to the object `until` at most ("": no limit). With the limits of
 * the parts of an earlier backup, unchanged parts have the same content. Each object is consistent: an object that is
 * too large for one call is read in pages, and again from its beginning if it has changed meanwhile. The error is the
 * key of an object that changed each time.
 */
export async function readPart(env: Env, installation: Installation, from: PartPosition, until: string) {
  if (from.within) return readLarge(env, from.after, from.within);
  const read = new Map<string, ObjectPage>();
  let characters = 0;
  const found = await objectsAfter(env, installation, from.after, FOUND_AT_ONCE);
  const keys = until === "" ? found : found.filter((key) => key <= until);
  let { after } = from;
  for (let at = 0; at < keys.length && characters < PART_CHARACTERS; ) {
    const group = groupAt(env, keys, at);
    // The part with the System object is restored first. Objects that were read before it go into another part.
    if (read.size > 0 && group.some((key) => placeAt(env, key).className === "System")) break;
    at += group.length;
    const pages = await inGroups(group, (key) => objectAt(env, placeAt(env, key)).exportPage(null, PART_CHARACTERS));
    for (const [index, key] of group.entries()) {
      // The next part reads the rest of the group again.
      if (characters >= PART_CHARACTERS) break;
      const page = pages[index];
      if (page === "changed") throw new Error("the first page of an object can't differ from an earlier page");
      if (page?.next) {
        const within = { key, page: null, tries: 0 };
        return read.size > 0 ? partOf(env, read, { after, within }) : readLarge(env, after, within);
      }
      if (page) read.set(key, page.page);
      characters += page?.characters ?? 0;
      after = key;
    }
  }
  const isEnd = found.length < FOUND_AT_ONCE && after === (found.at(-1) ?? from.after);
  return partOf(env, read, isEnd ? null : { after, within: null });
}

/**
 * The keys from `at` on that are read at once. They are of one class: what an object refers to is read after it, so that
 * what is deleted between both readings is not out of reach after a restore (`savedClasses`).
 */
function groupAt(env: Env, keys: readonly string[], at: number): readonly string[] {
  const group = keys.slice(at, at + GROUP);
  const classes = group.map((key) => placeAt(env, key).className);
  return group.filter((_, index) => classes[index] === classes[0]);
}

async function readLarge(env: Env, after: string, { key, page, tries }: NonNullable<PartPosition["within"]>) {
  for (let tried = tries, from = page; tried < MAX_TRIES; tried++, from = null) {
    const read = await objectAt(env, placeAt(env, key)).exportPage(from, PAGE_CHARACTERS);
    if (read === "changed") continue;
    const within = read?.next ? { key, page: read.next, tries: tried } : null;
    return partOf(env, new Map(read && [[key, read.page]]), { after: within ? after : key, within });
  }
  return err(key);
}

function placeAt(env: Env, key: string): ObjectPlace {
  const place = objectPlaceOf(env, key);
  if (!place) throw new Error("this is no key of an object");
  return place;
}

/** Compresses the text of a part with gzip. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Decompresses a part. The error is the problem. Stops at `maxBytes`, because a short file can expand to a very long
 * text: the streams of the runtime would expand all of it first.
 */
export function decompress(bytes: Uint8Array, maxBytes: number): Result<string, string> {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: maxBytes });
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(text));
  } catch {
    return err(`it can't be decompressed to at most ${maxBytes} bytes`);
  }
}

export async function sha256Of(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
