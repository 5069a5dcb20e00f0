import { columnOf, type Sql } from "../../../storage/tables.ts";
import { hasPart, lowered, MIN_SEARCH, textOfTerm } from "../search.ts";
import type { PendingTerms } from "./postings.ts";

/** Returns the terms that contain `text`; null when they may be more than `most`. */
export function termsContaining(sql: Sql, pending: PendingTerms, text: string, most: number): string[] | null {
  const stored = matching(sql, text, most + 1);
  if (stored.length > most) return null;
  const terms = [...new Set([...stored, ...pending.terms.keys()])];
  return terms.filter((term) => hasPart(textOfTerm(term) ?? "", text));
}

/** Adds a term to the searched terms when a token has it now (`isUsed`), or removes it. */
export function writeSearchedTerm(sql: Sql, term: string, isUsed: boolean): void {
  const text = textOfTerm(term);
  if (text === null || trigramsOf(text).length === 0) return;
  const place = placeOf(sql, term);
  if (!isUsed) sql.exec("DELETE FROM searched_terms WHERE rowid = ? AND term = ?", place, term);
  else
    sql.exec("INSERT OR REPLACE INTO searched_terms (rowid, text, term) VALUES (?, ?, ?)", place, lowered(text), term);
}

/** Returns terms that have all trigrams of a text, at most `limit`. */
function matching(sql: Sql, text: string, limit: number): string[] {
  const query = "SELECT term FROM searched_terms WHERE searched_terms MATCH ? LIMIT ?";
  const quoted = trigramsOf(text).map((trigram) => `"${trigram.replaceAll('"', '""')}"`);
  return columnOf(sql, query, quoted.join(" AND "), limit);
}

/** Maximum number of terms with one hash. By chance a shard does not have more. */
const PLACES = 4;

/**
 * Returns the id of a term, or the first free one of its hash (null: none). An index would cost a row for each term.
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
