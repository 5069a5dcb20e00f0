import { runInDurableObject } from "cloudflare:test";
import { fromBase64 } from "../../src/crypto/bytes.ts";
import { type PageValue, readObjectPage } from "../../src/storage/object-pages.ts";

/** A row as it is stored. */
export type StoredRow = Readonly<Record<string, string | number | Uint8Array | null>>;

/** The first page of an object as a backup reads it, which here is all of it; null: nothing is stored. */
function contentOf(stub: DurableObjectStub) {
  return runInDurableObject(stub, (_, { storage: { sql } }) =>
    readObjectPage(sql, "", "", null, Number.POSITIVE_INFINITY),
  ).then((read) => (read === null || read === "changed" ? null : read.page));
}

/** The rows of a table of an object, in the order of its key; none where the table is not made. */
export async function rowsOf(stub: DurableObjectStub, table: string): Promise<StoredRow[]> {
  const found = (await contentOf(stub))?.tables.find((one) => one.table === table);
  if (!found) return [];
  return found.rows.map((row) => Object.fromEntries(row.map((value, at) => [found.columns[at] ?? "", plain(value)])));
}

/** Everything that an object stores, as somebody without keys reads it: bytes that hold a text are that text. */
export async function storedText(stub: DurableObjectStub): Promise<string> {
  const tables = (await contentOf(stub))?.tables ?? [];
  const texts = tables.flatMap(({ rows }) => rows.flat()).map(plain);
  return texts.map((value) => (value instanceof Uint8Array ? new TextDecoder().decode(value) : `${value}`)).join("\n");
}

/** The names of the tables, indexes and views that an object has made. */
export function madeIn(stub: DurableObjectStub): Promise<string[]> {
  return runInDurableObject(stub, (_, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name")
      .toArray()
      .map(({ name }) => name),
  );
}

function plain(value: PageValue): StoredRow[string] {
  return typeof value === "object" && value !== null ? (fromBase64(value.b) ?? new Uint8Array()) : value;
}
