import type { Values } from "./field-schema.ts";
import { pageSize, text } from "./fields.ts";

/** Fields of every list: at most `limit` entries (0: no limit) after the entry `after`. */
export const PAGE = {
  after: text().describe("Only entries after this one"),
  limit: pageSize().describe("Entries of one answer; 0 or `max`: as many as allowed"),
};

export type PageFields = Values<typeof PAGE>;

/** Returns a page of sorted names. */
export function pageOf(names: readonly string[], { after, limit }: PageFields): string[] {
  const rest = after === "" ? [...names] : names.filter((name) => name > after);
  return limit > 0 ? rest.slice(0, limit) : rest;
}

const CHUNK = 1000;

/**
 * Reads a page from an object, in chunks. `read` returns at most `limit` entries after `after`, in order. `cursorOf`
 * returns the value of `after` for the entries that follow an entry.
 */
export async function readPageInChunks<T>(
  { after, limit }: PageFields,
  read: (after: string, limit: number) => Promise<readonly T[]>,
  cursorOf: (entry: T) => string,
): Promise<T[]> {
  const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
  const entries: T[] = [];
  for (let from = after; ; ) {
    const wanted = Math.min(CHUNK, most - entries.length);
    const chunk = await read(from, wanted);
    entries.push(...chunk);
    const last = chunk.at(-1);
    if (last === undefined || chunk.length < wanted || entries.length >= most) return entries;
    from = cursorOf(last);
  }
}
