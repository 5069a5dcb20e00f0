import { columnOf, type Sql } from "../../../storage/tables.ts";
import { hasPart, lowered, MIN_SEARCH, textOfTerm } from "../filter.ts";
import type { TermRange } from "../index-terms.ts";

/** Maximum number of ids of one row. A row that would have more is split into rows of half as many. */
const MAX_IDS = 512;

/** Ids that are added to the postings of a term, and ids that are removed from them. */
export interface TermDelta {
  readonly added: Set<number>;
  readonly gone: Set<number>;
}

/** Pending changes of the postings, by term. */
type Pending = ReadonlyMap<string, TermDelta>;

/** Several hundred ids of the tokens that have a term, from `first` up to the `first` of the next row. */
type PostingRow = { first: number; ids: string };

/** Yields the ids of a term from `low` to `high`, in order, and reads rows lazily. */
export function* postingIds(sql: Sql, pending: Pending, term: string, low: number, high: number, descending: boolean) {
  const delta = pending.get(term);
  const order = (a: number, b: number) => (descending ? b - a : a - b);
  const isInRange = (id: number) => id >= low && id <= high;
  const added = [...(delta?.added ?? [])].filter(isInRange).sort(order);
  let next = 0;
  for (const row of rowsBetween(sql, term, low, high, descending)) {
    const ids = idsOf(row).filter((id) => isInRange(id) && !delta?.gone.has(id));
    for (const id of ids.sort(order)) {
      for (let one = added[next]; one !== undefined && order(one, id) < 0; one = added[++next]) yield one;
      yield id;
    }
  }
  yield* added.slice(next);
}

/** Returns the ids of a range of terms, each once and unordered; null when there may be more than `most`. */
export function fewOf(sql: Sql, pending: Pending, { term, end }: TermRange, most: number): number[] | null {
  if (end === undefined) return few(sql, pending, "term = ?", [term], (one) => one === term, most);
  return few(sql, pending, "term >= ? AND term < ?", [term, end], (one) => one >= term && one < end, most);
}

/** Returns the ids of several terms, each once and unordered; null when there may be more than `most`. */
export function fewOfAny(sql: Sql, pending: Pending, terms: readonly string[], most: number): number[] | null {
  const wanted = new Set(terms);
  const where = "term IN (SELECT value FROM json_each(?))";
  return few(sql, pending, where, [JSON.stringify(terms)], (one) => wanted.has(one), most);
}

function few(
  sql: Sql,
  pending: Pending,
  where: string,
  values: readonly string[],
  isWanted: (term: string) => boolean,
  most: number,
): number[] | null {
  const added = [...pending].flatMap(([term, delta]) => (isWanted(term) ? [...delta.added] : []));
  const ids = new Set(added);
  let count = added.length;
  const query = `SELECT term, n, ids FROM postings WHERE ${where}`;
  for (const row of sql.exec<{ term: string; n: number; ids: string }>(query, ...values)) {
    count += row.n;
    if (count > most) return null;
    for (const id of idsOf(row)) if (!pending.get(row.term)?.gone.has(id)) ids.add(id);
  }
  return count > most ? null : [...ids];
}

function* rowsBetween(sql: Sql, term: string, low: number, high: number, descending: boolean): Iterable<PostingRow> {
  let next = descending ? high : (rowCovering(sql, term, low)?.first ?? low);
  for (;;) {
    const row = descending
      ? rowCovering(sql, term, next)
      : oneRow(sql, term, "first >= ? AND first <= ? ORDER BY first", next, high);
    if (!row) return;
    yield row;
    if (descending && row.first <= low) return;
    next = descending ? row.first - 1 : row.first + 1;
  }
}

/** True when tokens have the term, by the written postings alone. */
export function hasPostings(sql: Sql, term: string): boolean {
  return sql.exec("SELECT 1 FROM postings WHERE term = ? LIMIT 1", term).toArray().length > 0;
}

/** Writes changes of the ids of one term. Neighbouring ids share a row. */
export function writePostings(sql: Sql, term: string, { added, gone }: TermDelta): void {
  const changed = [...added, ...gone].sort((a, b) => a - b);
  for (let at = 0; at < changed.length; ) {
    const id = changed[at] ?? 0;
    const row = rowCovering(sql, term, id);
    const next = oneRow(sql, term, "first > ? ORDER BY first", id);
    const ids = new Set(row && idsOf(row));
    for (; at < changed.length; at++) {
      const one = changed[at] ?? 0;
      if (next && one >= next.first) break;
      if (added.has(one)) ids.add(one);
      else ids.delete(one);
    }
    const sorted = [...ids].sort((a, b) => a - b);
    writeRow(sql, term, row?.first ?? null, sorted);
  }
}

/** Writes the ids of a row, and splits or deletes the row if needed. `first` is null for a new row. */
function writeRow(sql: Sql, term: string, first: number | null, ids: readonly number[]): void {
  if (ids.length === 0) {
    if (first !== null) sql.exec("DELETE FROM postings WHERE term = ? AND first = ?", term, first);
    return;
  }
  const size = ids.length > MAX_IDS ? MAX_IDS / 2 : MAX_IDS;
  for (let at = 0; at < ids.length; at += size) {
    const part = ids.slice(at, at + size);
    const key = at === 0 && first !== null ? first : (part[0] ?? 0);
    const statement = "INSERT OR REPLACE INTO postings (term, first, n, ids) VALUES (?, ?, ?, ?)";
    sql.exec(statement, term, key, part.length, part.join());
  }
}

function rowCovering(sql: Sql, term: string, id: number): PostingRow | undefined {
  return oneRow(sql, term, "first <= ? ORDER BY first DESC", id);
}

function oneRow(sql: Sql, term: string, where: string, ...values: readonly number[]): PostingRow | undefined {
  const query = `SELECT first, ids FROM postings WHERE term = ? AND ${where} LIMIT 1`;
  return sql.exec<PostingRow>(query, term, ...values).toArray()[0];
}

function idsOf({ ids }: Pick<PostingRow, "ids">): number[] {
  return ids.split(",").map(Number);
}

/** Returns the terms that contain `text`; null when they may be more than `most`. */
export function termsContaining(sql: Sql, pending: Pending, text: string, most: number): string[] | null {
  const query = "SELECT term FROM searched_terms WHERE searched_terms MATCH ? LIMIT ?";
  const quoted = trigramsOf(text).map((trigram) => `"${trigram.replaceAll('"', '""')}"`);
  const stored = columnOf<string>(sql, query, quoted.join(" AND "), most + 1);
  if (stored.length > most) return null;
  const terms = [...new Set([...stored, ...pending.keys()])];
  return terms.filter((term) => hasPart(textOfTerm(term) ?? "", text));
}

/** Adds a term to the searched terms when a token has it now (`isUsed`), or removes it. */
export function writeSearchedTerm(sql: Sql, term: string, isUsed: boolean): void {
  const text = textOfTerm(term);
  if (text === null || trigramsOf(text).length === 0) return;
  const place = placeOf(sql, term);
  const added = "INSERT OR REPLACE INTO searched_terms (rowid, text, term) VALUES (?, ?, ?)";
  if (isUsed) sql.exec(added, place, lowered(text), term);
  else sql.exec("DELETE FROM searched_terms WHERE rowid = ? AND term = ?", place, term);
}

/** Maximum number of terms with one hash of 32 bits. More collisions are too unlikely: such a term is not searchable. */
const PLACES = 4;

/**
 * Returns the id of a term: one of the few that belong to its hash. A new term gets the first that is free; null when none
 * is. So no index of the terms is needed, which would cost a row for each.
 */
function placeOf(sql: Sql, term: string): number | null {
  let hash = 0x811c9dc5;
  for (const unit of new TextEncoder().encode(term)) hash = Math.imul(hash ^ unit, 0x01000193);
  let free: number | null = null;
  for (let at = 0; at < PLACES; at++) {
    const id = (hash >>> 0) * PLACES + at;
    const [row] = sql.exec<{ term: string }>("SELECT term FROM searched_terms WHERE rowid = ?", id).toArray();
    if (row?.term === term) return id;
    if (!row) free ??= id;
  }
  return free;
}

/** Returns each sequence of three characters, once. NUL is removed, because the tokenizer leaves it out. */
function trigramsOf(text: string): string[] {
  const characters = [...lowered(text).replaceAll("\0", "")];
  const trigrams = characters.slice(MIN_SEARCH - 1).map((_, at) => characters.slice(at, at + MIN_SEARCH).join(""));
  return [...new Set(trigrams)];
}
