import type { Ms } from "../../../base/clock.ts";
import { columnOf, type Sql } from "../../../storage/tables.ts";
import { firstRowAt, treeBeginning, treeIdOf } from "../../../token/ids.ts";
import type { ListedToken } from "../entry.ts";
import { ACCESSOR_BEGINNING, ACCESSOR_PART, matches, type TokenFilter } from "../filter.ts";
import { rangesOf } from "../index-terms.ts";
import {
  comparePositions,
  firstInOrder,
  keyOf,
  NEVER,
  type Order,
  type PlacedToken,
  type ShardPage,
  type ShardQuery,
  scanPage,
} from "../page-cursor.ts";
import type { InventoryIndex } from "./inventory-index.ts";
import { fewOf, fewOfAny, postingIds, termsContaining } from "./postings.ts";
import { type ListedRow as Row, tokenOf } from "./tables.ts";

/** Up to this number the tokens of a term, of a tree, or of a range of expiries are all read and then sorted. */
const READ_ALL = 300;
/** Maximum number of tokens that one page reads in one shard, whether they match the filter or not. */
const MAX_SCANNED = 1000;
/** Maximum number of tokens of a tree or a search that are sorted for a page. Above it all tokens are scanned. */
const MAX_SORTED = 5000;
/** Tokens that are read at once by their ids: few at first, because the page may be full soon. */
const FIRST_READ = 32;
const NEXT_READ = 256;

/** Maximum number of terms whose tokens a search reads. Above it all tokens are scanned. */
const MAX_SEARCHED_TERMS = 300;
/** Maximum number of tokens of a shard for which a search for a part of an accessor reads all accessors. */
const MAX_SEARCHED_ACCESSORS = 200_000;

export interface PageQuery extends ShardQuery<TokenFilter> {
  readonly order: Order;
  readonly now: Ms;
}

const COLUMNS = "i.id, i.accessor, i.ends, i.entry";

export class ShardPages {
  readonly #sql: Sql;
  readonly #index: InventoryIndex;

  constructor(sql: Sql, index: InventoryIndex) {
    this.#sql = sql;
    this.#index = index;
  }

  /** Returns at most `limit` tokens that match the filter, in order. Reads a bounded number of tokens. */
  page(query: PageQuery): ShardPage<ListedToken> {
    const few = this.#fewRows(query);
    if (few) return sorted(query, few);
    const found = this.#found(query.filter);
    if (found && found.length <= READ_ALL) return sorted(query, [...this.#rowsOf(found)]);
    const rows = query.order.by === "created" ? this.#byCreation(query, found) : this.#byEnd(query);
    return scanPage(rows, query.order, query, MAX_SCANNED, (row) => placed(query, row));
  }

  /** `found`: ids of at least all tokens that the search finds; null: no search, or many. */
  #byCreation({ filter, order, after }: PageQuery, found: readonly number[] | null): Iterable<Row> {
    const { createdAfter, createdBefore } = filter;
    let low = createdAfter === undefined ? 0 : firstRowAt(createdAfter + 1);
    let high = createdBefore === undefined ? NEVER : firstRowAt(createdBefore) - 1;
    // In this order the key of a token is its id.
    if (after && order.descending) high = Math.min(high, after.key);
    if (after && !order.descending) low = Math.max(low, after.key);
    const ids = (filter.tree === undefined ? null : this.#idsBetween(accessorsOfTree(filter.tree))) ?? found;
    if (ids) {
      const between = ids.filter((id) => id >= low && id <= high);
      return this.#rowsOf(between.sort((a, b) => (order.descending ? b - a : a - b)));
    }
    const term = rangesOf(filter).find(({ end }) => end === undefined)?.term;
    if (term !== undefined) {
      return this.#rowsOf(postingIds(this.#sql, this.#index.terms, term, low, high, order.descending));
    }
    // The index by expiry has the tokens that never expire together, in the order of their ids.
    const ends = filter.neverEnds === true ? `i.ends = ${NEVER} AND` : "";
    const direction = order.descending ? "DESC" : "ASC";
    const query = `SELECT ${COLUMNS} FROM inventory i WHERE ${ends} i.id BETWEEN ? AND ? ORDER BY i.id ${direction}`;
    return this.#sql.exec<Row>(query, low, high);
  }

  *#byEnd({ filter, order: { descending }, after, now }: PageQuery): Iterable<Row> {
    const [low, high] = endsOf(filter, now);
    const [comparison, direction] = descending ? ["<=", "DESC"] : [">=", "ASC"];
    const select = `SELECT ${COLUMNS} FROM inventory i WHERE`;
    // Many tokens can have one expiry, above all "never". SQLite seeks an id in the index only for a single expiry.
    if (after && after.key >= low && after.key <= high) {
      const atOnce = `${select} i.ends = ? AND i.id ${comparison} ? ORDER BY i.id ${direction}`;
      yield* this.#sql.exec<Row>(atOnce, after.key, after.id);
    }
    const from = after && !descending ? Math.max(low, after.key + 1) : low;
    const to = after && descending ? Math.min(high, after.key - 1) : high;
    const others = `${select} i.ends BETWEEN ? AND ? ORDER BY i.ends ${direction}, i.id ${direction}`;
    yield* this.#sql.exec<Row>(others, from, to);
  }

  /** Returns a superset of the matching tokens, from the first index that finds few; null when all find many. */
  #fewRows({ filter, now }: PageQuery): Row[] | null {
    const { tree, endsAfter, endsBefore, neverEnds } = filter;
    const hasEnds = (endsAfter ?? endsBefore ?? neverEnds) !== undefined;
    const few =
      (hasEnds ? this.#few("i.ends BETWEEN ? AND ?", endsOf(filter, now)) : null) ??
      (tree === undefined ? null : this.#few(IN_TREE, accessorsOfTree(tree)));
    if (few) return few;
    for (const range of rangesOf(filter)) {
      const ids = fewOf(this.#sql, this.#index.terms, range, READ_ALL);
      if (ids) return [...this.#rowsOf(ids)];
    }
    return null;
  }

  /** Returns ids of at least all tokens that the search finds; null when they are many, or without a search. */
  #found({ search }: TokenFilter): number[] | null {
    if (!search) return null;
    const terms = termsContaining(this.#sql, this.#index.terms, search.text, MAX_SEARCHED_TERMS);
    if (terms === null) return null;
    const entities = search.entities.map((id) => `entity:${id}`);
    const ids = fewOfAny(this.#sql, this.#index.terms, [...terms, ...entities], MAX_SORTED);
    const byAccessor = this.#withAccessorPart(search.text);
    return ids && byAccessor && [...new Set([...ids, ...byAccessor])];
  }

  /** Returns ids of the tokens whose accessor has or begins with a text; null when too many would be read. */
  #withAccessorPart(text: string): number[] | null {
    if (!ACCESSOR_PART.test(text)) {
      return ACCESSOR_BEGINNING.test(text) ? this.#idsBetween([text, `${text}\u{10ffff}`]) : [];
    }
    const tokens = this.#index.mounts("mount").reduce((sum, { count }) => sum + count, 0);
    if (tokens > MAX_SEARCHED_ACCESSORS) return null;
    // The index of accessors covers the query, so no rows are read.
    const query = "SELECT id FROM inventory INDEXED BY inventory_by_accessor WHERE instr(accessor, ?) > 0";
    return columnOf(this.#sql, query, text);
  }

  /** Returns the rows that meet `where`, which an index answers; null when they are more than `READ_ALL`. */
  #few(where: string, values: readonly SqlStorageValue[]): Row[] | null {
    const query = `SELECT ${COLUMNS} FROM inventory i WHERE ${where} LIMIT ?`;
    const rows = this.#sql.exec<Row>(query, ...values, READ_ALL + 1).toArray();
    return rows.length > READ_ALL ? null : rows;
  }

  /** Returns the ids of the tokens with accessors in a range, unordered; null when they are more than `MAX_SORTED`. */
  #idsBetween(range: readonly [string, string]): number[] | null {
    const query = `SELECT i.id FROM inventory i WHERE ${IN_TREE} LIMIT ?`;
    const all = columnOf<number>(this.#sql, query, ...range, MAX_SORTED + 1);
    return all.length > MAX_SORTED ? null : all;
  }

  /** Yields the rows with these ids, in their order, and reads them lazily. */
  *#rowsOf(ids: Iterable<number>): Iterable<Row> {
    const query = `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN inventory i ON i.id = j.value ORDER BY j.key`;
    let waiting: number[] = [];
    let atOnce = FIRST_READ;
    for (const id of ids) {
      waiting.push(id);
      if (waiting.length < atOnce) continue;
      yield* this.#sql.exec<Row>(query, JSON.stringify(waiting)).toArray();
      waiting = [];
      atOnce = NEXT_READ;
    }
    if (waiting.length > 0) yield* this.#sql.exec<Row>(query, JSON.stringify(waiting)).toArray();
  }
}

const IN_TREE = "i.accessor >= ? AND i.accessor < ?";

function accessorsOfTree(tree: string): [string, string] {
  const beginning = treeBeginning(tree);
  return [beginning, `${beginning}\u{10ffff}`];
}

function sorted(query: PageQuery, rows: readonly Row[]): ShardPage<ListedToken> {
  const { order, after, limit } = query;
  const selected = rows
    .map((row) => placed(query, row))
    .filter(({ isSelected }) => isSelected)
    .filter(({ position }) => after === null || comparePositions(position, after, order) > 0);
  const { tokens, last } = firstInOrder(selected, order, limit);
  return { tokens, upTo: last, scanned: rows.length };
}

/** Returns the first and the last expiry that match a filter, as keys of the index. */
function endsOf({ endsAfter, endsBefore, neverEnds }: TokenFilter, now: Ms): [number, number] {
  const low = neverEnds ? NEVER : Math.max(now, endsAfter ?? 0) + 1;
  const high = endsBefore !== undefined ? endsBefore - 1 : neverEnds === false ? NEVER - 1 : NEVER;
  return [low, high];
}

function placed({ filter, order, shard, now }: PageQuery, row: Row): PlacedToken<ListedToken> {
  const token = tokenOf(row);
  const position = { key: keyOf(token, order.by), id: token.id, shard };
  const tree = filter.tree === undefined ? "" : treeIdOf(token.accessor);
  return { token, position, isSelected: matches(filter, token, tree, now) };
}
