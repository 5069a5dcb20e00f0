import { ROOT_POLICY } from "../../policy/name.ts";
import { decodeStoredId, firstRowAt } from "../../token/ids.ts";
import { InventoryCounts } from "./counts.ts";
import { createdAtOf, type InventoryEntry, type ListedToken } from "./entry.ts";
import { matches, type TokenFilter } from "./filter.ts";
import { comparePositions, keyOf, NEVER, type Order, type Position } from "./order.ts";
import { countsOf, rangesOf, type TermRange, termsOf } from "./terms.ts";

/** The tables of the inventory in a shard of the list of accessors. */
export const INVENTORY_SQL = `
  CREATE TABLE inventory (id INTEGER PRIMARY KEY, accessor TEXT NOT NULL, ends INTEGER NOT NULL, entry TEXT NOT NULL);
  CREATE INDEX inventory_by_end ON inventory (ends, id);
  CREATE TABLE terms (term TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (term, id)) WITHOUT ROWID;
  CREATE TABLE counts (
    kind TEXT NOT NULL, mount TEXT NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, mount, key)
  ) WITHOUT ROWID;
  CREATE INDEX counts_by_size ON counts (kind, mount, n) WHERE n > 1;
  CREATE TABLE trees (tree TEXT PRIMARY KEY, mount TEXT NOT NULL, root TEXT NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX trees_by_size ON trees (mount, n);
`;

/** Row numbers of different trees can be equal: the id of a token is the first free one from its row number on. */
const ID_PROBES = 64;
/** So many tokens of a term, or of a range of ends, are read all at once and sorted. */
const READ_ALL = 300;
/** Tokens that one page looks at in one shard, whether the filter means them or not. */
const MAX_SCANNED = 1000;

/** A page of one shard. */
export interface PageQuery {
  readonly filter: TokenFilter;
  readonly order: Order;
  /** The page begins after this; null: at the beginning. */
  readonly after: Position | null;
  /** Number of this shard. */
  readonly shard: number;
  readonly limit: number;
  /** ms. */
  readonly now: number;
}

/** Tokens of one shard in order. */
export interface ShardPage {
  readonly tokens: readonly ListedToken[];
  /** All that is meant up to here is in the page; null: to the end. */
  readonly upTo: Position | null;
  /** Tokens looked at. */
  readonly scanned: number;
}

/** How many tokens of one shard a filter means. */
export interface ShardCount {
  readonly count: number;
  /** Root tokens among them. */
  readonly roots: number;
  /** Id of the last token that was looked at; null when there are no more. */
  readonly last: number | null;
}

type Row = { id: number; accessor: string; entry: string };

const COLUMNS = "i.id, i.accessor, i.entry";

/** The inventory of one shard: a row for each token that pages are read from, the terms that find it, and counters. */
export class InventoryStore {
  readonly #sql: SqlStorage;
  readonly #counts: InventoryCounts;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#counts = new InventoryCounts(sql);
  }

  /** Keeps what is known of tokens now. Safe to repeat. */
  put(entries: readonly InventoryEntry[]): void {
    const counts = this.#counts.change();
    for (const entry of entries) {
      const place = decodeStoredId(entry.accessor);
      if (!place) throw new Error("an accessor leads to a tree");
      const known = this.#find(place.row, entry.accessor);
      const id = known?.id ?? this.#freeId(place.row);
      const before = known && tokenOf(known);
      // A tree that was away does not know of uses before.
      const token: ListedToken = { ...entry, lastUsed: entry.lastUsed ?? before?.lastUsed ?? null, id };
      const { accessor, id: _, ...rest } = token;
      const json = JSON.stringify(rest);
      if (known?.entry === json) continue;
      this.#sql.exec(
        `INSERT INTO inventory (id, accessor, ends, entry) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET ends = excluded.ends, entry = excluded.entry`,
        id,
        accessor,
        keyOf(token, "end"),
        json,
      );
      if (before) counts.add(countsOf(before, createdAtOf(before)), -1);
      counts.add(countsOf(token, createdAtOf(token)), 1);
      // What a token is found by never changes.
      if (!before) this.#addTerms(termsOf(entry, place.treeId), id);
    }
    counts.apply();
  }

  /** Forgets tokens. Safe to repeat. */
  remove(accessors: readonly string[]): void {
    const counts = this.#counts.change();
    for (const accessor of accessors) {
      const place = decodeStoredId(accessor);
      const known = place && this.#find(place.row, accessor);
      if (!known) continue;
      const token = tokenOf(known);
      this.#sql.exec("DELETE FROM inventory WHERE id = ?", known.id);
      this.#sql.exec(
        "DELETE FROM terms WHERE id = ? AND term IN (SELECT value FROM json_each(?))",
        known.id,
        JSON.stringify(termsOf(token, place.treeId)),
      );
      counts.add(countsOf(token, createdAtOf(token)), -1);
    }
    counts.apply();
  }

  /** What is kept of the tokens with these accessors. */
  find(accessors: readonly string[]): ListedToken[] {
    return accessors.flatMap((accessor) => {
      const place = decodeStoredId(accessor);
      const known = place && this.#find(place.row, accessor);
      return known ? [tokenOf(known)] : [];
    });
  }

  /** At most `limit` tokens that the filter means, in order. Looks at a bounded number of tokens, however many there are. */
  page(query: PageQuery): ShardPage {
    const ranges = rangesOf(query.filter);
    const few = this.#fewEnds(query) ?? this.#fewOfAny(ranges);
    if (few) return sorted(query, few);
    const [first] = ranges;
    return this.#walk(query, first && first.end === undefined ? first.term : null);
  }

  /**
   * Counts the tokens that the filter means, of the `limit` that an index has after a token.
   *
   * @param last id of that token; null: from the first one on.
   * @returns `last` from which to go on; null when nothing comes after.
   */
  count(filter: TokenFilter, now: number, last: number | null, limit: number): ShardCount {
    const order: Order = { by: "created", descending: false };
    const after = last === null ? null : { key: last, id: last, shard: 0 };
    const query: PageQuery = { filter, order, after, shard: 0, limit, now };
    const range = rangesOf(filter).find(({ end }) => end === undefined);
    let scanned = 0;
    let count = 0;
    let roots = 0;
    let id = 0;
    for (const row of this.#byCreation(query, range?.term ?? null)) {
      if (scanned === limit) return { count, roots, last: id };
      scanned++;
      id = row.id;
      if (!isMeant(query, row)) continue;
      count++;
      if (tokenOf(row).policies.includes(ROOT_POLICY)) roots++;
    }
    return { count, roots, last: null };
  }

  /** Tokens in the order of an index, until the page is full or enough were looked at. */
  #walk(query: PageQuery, term: string | null): ShardPage {
    const { order, limit, shard } = query;
    const tokens: ListedToken[] = [];
    let scanned = 0;
    let last: Position | null = null;
    // A cursor reads as it goes: what comes after the page is never read.
    for (const row of order.by === "created" ? this.#byCreation(query, term) : this.#byEnd(query)) {
      if (scanned >= MAX_SCANNED || tokens.length >= limit) return { tokens, upTo: last, scanned };
      scanned++;
      const token = tokenOf(row);
      last = { key: keyOf(token, order.by), id: token.id, shard };
      if (isMeant(query, row)) tokens.push(token);
    }
    return { tokens, upTo: null, scanned };
  }

  #byCreation({ filter, order, after, shard }: PageQuery, term: string | null) {
    const { createdAfter, createdBefore } = filter;
    // Of the same id in a later shard the page still has to come.
    const seen = after === null ? null : { id: after.id, own: comesAfter(shard, after, order) };
    let low = createdAfter === undefined ? 0 : firstRowAt(createdAfter + 1);
    let high = createdBefore === undefined ? NEVER : firstRowAt(createdBefore) - 1;
    if (seen && order.descending) high = Math.min(high, seen.own ? seen.id : seen.id - 1);
    if (seen && !order.descending) low = Math.max(low, seen.own ? seen.id : seen.id + 1);
    const direction = order.descending ? "DESC" : "ASC";
    if (term === null && filter.neverEnds === true) {
      // The index by end has those that never end together, in the order of their ids.
      return this.#sql.exec<Row>(
        `SELECT ${COLUMNS} FROM inventory i WHERE i.ends = ? AND i.id BETWEEN ? AND ? ORDER BY i.id ${direction}`,
        ...[NEVER, low, high],
      );
    }
    if (term === null) {
      return this.#sql.exec<Row>(
        `SELECT ${COLUMNS} FROM inventory i WHERE i.id BETWEEN ? AND ? ORDER BY i.id ${direction}`,
        low,
        high,
      );
    }
    return this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM terms t JOIN inventory i ON i.id = t.id
       WHERE t.term = ? AND t.id BETWEEN ? AND ? ORDER BY t.id ${direction}`,
      term,
      low,
      high,
    );
  }

  #byEnd({ filter, order, after, shard, now }: PageQuery) {
    const [low, high] = endsOf(filter, now);
    if (!order.descending) {
      const own = after !== null && comesAfter(shard, after, order) ? ">=" : ">";
      const [key, id] = after === null ? [low - 1, NEVER] : [after.key, after.id];
      return this.#sql.exec<Row>(
        `SELECT ${COLUMNS} FROM inventory i WHERE (i.ends, i.id) ${own} (?, ?) AND i.ends >= ? AND i.ends <= ?
         ORDER BY i.ends, i.id`,
        key,
        id,
        low,
        high,
      );
    }
    const own = after === null || comesAfter(shard, after, order) ? "<=" : "<";
    const [key, id] = after === null ? [high, NEVER] : [after.key, after.id];
    return this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM inventory i WHERE (i.ends, i.id) ${own} (?, ?) AND i.ends >= ? AND i.ends <= ?
       ORDER BY i.ends DESC, i.id DESC`,
      key,
      id,
      low,
      high,
    );
  }

  /** The tokens of the first of the ranges that has few; null when all have many. */
  #fewOfAny(ranges: readonly TermRange[]): Row[] | null {
    for (const range of ranges) {
      const few = this.#fewOf(range);
      if (few) return few;
    }
    return null;
  }

  /** The tokens of a range of terms; null when they are many. */
  #fewOf(range: TermRange): Row[] | null {
    const where = rangeWhere(range);
    const values = rangeValues(range);
    if (!this.#isFew(`SELECT 1 FROM terms t WHERE ${where}`, values)) return null;
    return this.#rows(`SELECT ${COLUMNS} FROM terms t JOIN inventory i ON i.id = t.id WHERE ${where}`, values);
  }

  /** The tokens whose end the filter means; null when they are many, or when it says nothing about the end. */
  #fewEnds({ filter, now }: PageQuery): Row[] | null {
    const { endsAfter, endsBefore, neverEnds } = filter;
    if (endsAfter === undefined && endsBefore === undefined && neverEnds === undefined) return null;
    const values = endsOf(filter, now);
    if (!this.#isFew("SELECT 1 FROM inventory WHERE ends BETWEEN ? AND ?", values)) return null;
    return this.#rows(`SELECT ${COLUMNS} FROM inventory i WHERE i.ends BETWEEN ? AND ?`, values);
  }

  /** Whether a query has at most `READ_ALL` rows. */
  #isFew(query: string, values: readonly SqlStorageValue[]): boolean {
    const limited = `SELECT COUNT(*) AS n FROM (${query} LIMIT ${READ_ALL + 1})`;
    return this.#sql.exec<{ n: number }>(limited, ...values).one().n <= READ_ALL;
  }

  #rows(query: string, values: readonly SqlStorageValue[]): Row[] {
    return this.#sql.exec<Row>(query, ...values).toArray();
  }

  #find(row: number, accessor: string): Row | null {
    const found = this.#sql.exec<Row>(
      "SELECT id, accessor, entry FROM inventory WHERE id BETWEEN ? AND ? AND accessor = ?",
      row,
      row + ID_PROBES - 1,
      accessor,
    );
    return found.toArray()[0] ?? null;
  }

  #freeId(row: number): number {
    for (let id = row; id < row + ID_PROBES; id++) {
      if (this.#sql.exec("SELECT 1 FROM inventory WHERE id = ?", id).toArray().length === 0) return id;
    }
    throw new Error("too many tokens of one moment in one shard");
  }

  #addTerms(terms: readonly string[], id: number): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO terms (term, id) SELECT value, ? FROM json_each(?)",
      id,
      JSON.stringify(terms),
    );
  }
}

/** A page of rows that are in no order. */
function sorted(query: PageQuery, rows: readonly Row[]): ShardPage {
  const { order, after, limit, shard } = query;
  const placed = rows
    .filter((row) => isMeant(query, row))
    .map((row) => tokenOf(row))
    .map((token) => ({ token, position: { key: keyOf(token, order.by), id: token.id, shard } }))
    .filter(({ position }) => after === null || comparePositions(position, after, order) > 0)
    .sort((a, b) => comparePositions(a.position, b.position, order));
  const page = placed.slice(0, limit);
  return {
    tokens: page.map(({ token }) => token),
    upTo: placed.length > limit ? (page.at(-1)?.position ?? null) : null,
    scanned: rows.length,
  };
}

/** The first and the last end that a filter means, as the index has them. */
function endsOf({ endsAfter, endsBefore, neverEnds }: TokenFilter, now: number): [number, number] {
  const low = neverEnds ? NEVER : Math.max(now, endsAfter ?? 0) + 1;
  const high = endsBefore !== undefined ? endsBefore - 1 : neverEnds === false ? NEVER - 1 : NEVER;
  return [low, high];
}

function isMeant({ filter, now }: PageQuery, row: Row): boolean {
  const token = tokenOf(row);
  return matches(filter, token, filter.tree === undefined ? "" : (decodeStoredId(row.accessor)?.treeId ?? ""), now);
}

function tokenOf({ id, accessor, entry }: Row): ListedToken {
  return { ...(JSON.parse(entry) as Omit<InventoryEntry, "accessor">), accessor, id };
}

/** True when an equal key and id in `shard` still comes after the position. */
function comesAfter(shard: number, { shard: last }: Position, { descending }: Order): boolean {
  return descending ? shard < last : shard > last;
}

function rangeWhere({ end }: TermRange): string {
  return end === undefined ? "t.term = ?" : "t.term >= ? AND t.term < ?";
}

function rangeValues({ term, end }: TermRange): string[] {
  return end === undefined ? [term] : [term, end];
}
