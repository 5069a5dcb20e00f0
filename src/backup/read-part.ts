import { inGroups } from "../base/parallel.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { PageRead } from "../storage/object-pages.ts";
import type { Installation } from "../system/installation.ts";
import { objectAt, objectsAfter, type SavedObject } from "./find-objects.ts";
import { isSystem, placeOf } from "./object-keys.ts";
import { PAGE_CHARACTERS, PART_CHARACTERS, type Part, type Position, type SavedPage } from "./part.ts";

/** Objects that are looked for at once. The platform limits the calls of a request. */
export const FOUND_AT_ONCE = 500;
/** Objects that are read at once, so much of each that an isolate has room for all. */
const GROUP = 6;
/** So often a large object is read from its beginning, as it had changed before its end was read. */
const MAX_TRIES = 10;

/** A part that was read. */
export interface PartRead {
  readonly part: Part;
  readonly rows: number;
  /** null: it was the last part. */
  readonly next: Position | null;
}

/** Why a part could not be read: an object changed each time, before all of it was read. */
export interface Restless {
  /** Of the object. */
  readonly key: string;
}

/** Pages of objects as they come together to a part. */
class PartWriter {
  readonly #schemas = new Map<string, number>();
  readonly #objects: SavedPage[] = [];
  rows = 0;
  characters = 0;

  add(key: string, { page, characters }: PageRead): void {
    const place = placeOf(key);
    if (!place) throw new Error("an object without a place was read");
    const { schema, ...content } = page;
    this.#objects.push({ ...place, ...content, schema: schema.length === 0 ? null : this.#numberOf(schema) });
    this.rows += page.tables.reduce((sum, { rows }) => sum + rows.length, 0);
    this.characters += characters;
  }

  get part(): Part {
    return { schemas: [...this.#schemas.keys()].map((text): string[] => JSON.parse(text)), objects: this.#objects };
  }

  get isEmpty(): boolean {
    return this.#objects.length === 0;
  }

  #numberOf(schema: readonly string[]): number {
    const text = JSON.stringify(schema);
    const number = this.#schemas.get(text) ?? this.#schemas.size;
    this.#schemas.set(text, number);
    return number;
  }
}

/**
 * Reads the part of a backup that begins at `from`. Each object is as it was in one moment. One that is too large for one reading is
 * read in pages, and from its beginning when it has changed meanwhile.
 *
 * @param until key of the last object that may be in it; "" for no limit. With the limits of the backup before, a part in which nothing
 *   has changed is the same as then.
 */
export async function readPart(
  env: Env,
  installation: Installation,
  from: Position,
  until: string,
): Promise<Result<PartRead, Restless>> {
  const written = new PartWriter();
  if (from.within) return readLarge(env, from.after, from.within, written);
  const found = await objectsAfter(env, installation, from.after, FOUND_AT_ONCE);
  const keys = until === "" ? found : found.filter((key) => key <= until);
  let { after } = from;
  for (let at = 0; at < keys.length && written.characters < PART_CHARACTERS; ) {
    const group = keys.slice(at, at + GROUP);
    // The rows of the System object are a part of their own: it is the first that is restored.
    if (!written.isEmpty && group.some(isSystem)) break;
    const read = await inGroups(group, (key) => objectOf(env, key).exportPage(null, PART_CHARACTERS));
    for (const [place, key] of group.entries()) {
      // What does not fit any more is read again, for the next part.
      if (written.characters >= PART_CHARACTERS) break;
      const one = read[place];
      if (one === "changed") throw new Error("the first page of an object is never of another moment");
      if (one?.next) {
        const within = { key, page: null, tries: 0 };
        return written.isEmpty
          ? readLarge(env, after, within, written)
          : ok({ part: written.part, rows: written.rows, next: { after, within } });
      }
      if (one) written.add(key, one);
      after = key;
    }
    at += group.length;
  }
  const isEnd = found.length < FOUND_AT_ONCE && after === (found.at(-1) ?? from.after);
  return ok({ part: written.part, rows: written.rows, next: isEnd ? null : { after, within: null } });
}

/** Reads the next page of a large object. */
async function readLarge(
  env: Env,
  after: string,
  { key, page, tries }: NonNullable<Position["within"]>,
  written: PartWriter,
): Promise<Result<PartRead, Restless>> {
  for (let tried = tries, from = page; tried < MAX_TRIES; tried++, from = null) {
    const read = await objectOf(env, key).exportPage(from, PAGE_CHARACTERS);
    if (read === "changed") continue;
    if (read) written.add(key, read);
    const next: Position = read?.next
      ? { after, within: { key, page: read.next, tries: tried } }
      : { after: key, within: null };
    return ok({ part: written.part, rows: written.rows, next });
  }
  return err({ key });
}

function objectOf(env: Env, key: string): SavedObject {
  const place = placeOf(key);
  if (!place) throw new Error("this is no key of an object");
  return objectAt(env, place);
}
