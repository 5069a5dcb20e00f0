import type { Ms } from "../../../base/clock.ts";
import { columnOf, type Sql, setColumns } from "../../../storage/tables.ts";
import { NO_ORIGIN } from "../../../system/revocation-origin.ts";
import { decodeStoredId, TREE_CHARACTERS, treePartOf } from "../../../token/ids.ts";
import type { ShardUpdates } from "../../updates/publish.ts";
import { EndedTokens, type Ending } from "../ended-tokens.ts";
import {
  createdAtOf,
  fixedText,
  type InventoryEntry,
  type ListedClaim,
  type ListedToken,
  listedPath,
  type TreeSize,
} from "../entry.ts";
import { countsOf, termsOf } from "../index-terms.ts";
import { keyOf } from "../page-cursor.ts";
import { InventoryIndex } from "./inventory-index.ts";
import { ShardPages } from "./pages.ts";
import { findPlace, ID_PROBES, type ListedRow, readListedToken, type TokenRowOfShard, tokenOf } from "./tables.ts";

/** Up to this number tokens are deleted one by one. */
const FEW = 16;
const MAX_TREES = 200;

/** Up to this size every size is a class of its own. */
const EXACT = 8;
/** Above `EXACT`: number of classes between a size and twice that size. */
const CLASSES = 8;

type KnownRow = ListedRow & { tree_size: number | null };

/** A row with all columns that are checked, and the number of rows with its accessor. */
type ClaimedRow = ListedRow & { path: string; rows: number };

/** The inventory of one shard: a row for each token, from which pages are read, postings of terms, and counters. */
export class InventoryStore {
  readonly #sql: Sql;
  readonly index: InventoryIndex;
  readonly pages: ShardPages;
  readonly ended: EndedTokens;

  /** @param batch see `InventoryIndex`. @param most maximum numbers of ended tokens that are kept. */
  constructor(sql: Sql, batch?: number, most?: Readonly<Record<"job" | "other", number>>) {
    this.#sql = sql;
    this.index = new InventoryIndex(sql, batch);
    this.pages = new ShardPages(sql, this.index);
    this.ended = new EndedTokens(sql, this.index, most);
  }

  /**
   * Stores updates of tokens, and sizes of trees whose oldest token is here. Safe to repeat.
   *
   * @param endedBefore a change of a token that has left the list is late, and ignored, unless the token ended before
   *   this time: then it is listed again, so that tidy asks its tree. null: it is always ignored.
   */
  put(
    { made = [], changed = [], sizes = [] }: Partial<Omit<ShardUpdates, "started">>,
    endedBefore: Ms | null = null,
  ): void {
    const sizeOf = new Map(sizes.map(({ root, count }) => [root, count]));
    const isNew = new Set(made);
    for (const entry of [...made, ...changed]) {
      const { id, known } = this.#place(entry.accessor);
      if (!known && !isNew.has(entry) && !this.#isRevived(entry, endedBefore)) continue;
      if (known) this.#update(known, entry, sizeOf.get(entry.accessor));
      else {
        const token: ListedToken = { ...entry, id };
        this.#insert(token, sizeOf.get(entry.accessor) ?? 1);
        this.index.token(id, termsOf(entry), countsOf(entry, createdAtOf(token)), 1);
      }
      sizeOf.delete(entry.accessor);
    }
    for (const [root, count] of sizeOf) {
      const { known } = this.#place(root);
      if (known) this.#set(known.id, this.#sizeColumns(known, tokenOf(known).mount, count));
    }
    this.index.write();
  }

  /**
   * Deletes tokens. Safe to repeat. A listed token that its tree does not have is given as its accessor alone, and is
   * recorded as found by tidy.
   *
   * @param keptAt the current time; null: no records of ended tokens are kept.
   */
  remove(tokens: readonly (string | Ending)[], keptAt: Ms | null = null): void {
    const accessors = tokens.map((token) => (typeof token === "string" ? token : token.accessor));
    const gone =
      accessors.length > FEW ? this.#delete(accessors) : accessors.flatMap((accessor) => this.#deleteOne(accessor));
    for (const { id, terms, counts } of gone.flatMap(foundBy)) this.index.token(id, terms, counts, -1);
    const had = new Set(gone.map(({ accessor }) => accessor));
    if (keptAt !== null) {
      const ends = tokens.flatMap((token): Ending | [] => {
        if (typeof token !== "string") return token;
        return had.has(token) ? { accessor: token, end: { ...NO_ORIGIN, at: keptAt, how: "tidy", cause: token } } : [];
      });
      this.ended.add(ends, gone);
    }
    this.index.write();
  }

  /** Replaces tampered rows by the entries of their trees. Removed tokens are not added again, and counters stay. */
  replace(entries: readonly InventoryEntry[]): void {
    for (const entry of entries) {
      const { id, known } = this.#place(entry.accessor);
      // Only the list knows uses that the tree has forgotten.
      const token: ListedToken = {
        ...entry,
        lastUsed: entry.lastUsed ?? (known && readListedToken(known)?.lastUsed) ?? null,
        id,
      };
      // A row that was moved to another id is only found by its accessor.
      const moved = this.#sql.exec("DELETE FROM inventory WHERE accessor = ? AND id <> ?", entry.accessor, id);
      if (!known && moved.rowsWritten === 0) continue;
      if (known) this.#set(id, { path: listedPath(entry), ends: keyOf(token, "end"), entry: textOf(token) });
      else this.#insert(token, 1);
      this.index.token(id, termsOf(token), [], 1);
    }
    this.index.write();
  }

  /** Deletes rows of tokens that do not belong to this shard, at any id. */
  discard(accessors: readonly string[]): void {
    if (accessors.length === 0) return;
    const statement = "DELETE FROM inventory WHERE accessor IN (SELECT value FROM json_each(?))";
    this.#sql.exec(statement, JSON.stringify(accessors));
  }

  /** Forgets what was read of the tables, after a transaction that was rolled back. */
  forgetRead(): void {
    this.index.forgetRead();
    this.ended.forgetRead();
  }

  list(after: string, limit: number): string[] {
    const query = "SELECT accessor FROM inventory WHERE accessor > ? ORDER BY accessor LIMIT ?";
    return columnOf(this.#sql, query, after, limit);
  }

  treesAfter(after: string, limit: number): string[] {
    // Jumps from tree to tree in the index: "~" sorts after all characters of an accessor.
    const query = `WITH RECURSIVE firsts (a) AS (
        SELECT MIN(accessor) FROM inventory WHERE accessor > ?
        UNION ALL
        SELECT (SELECT MIN(accessor) FROM inventory WHERE accessor > substr(a, 1, ${TREE_CHARACTERS}) || '~')
        FROM firsts WHERE a IS NOT NULL LIMIT ?
      )
      SELECT a FROM firsts WHERE a IS NOT NULL`;
    return columnOf(this.#sql, query, after === "" ? "" : `${treePartOf(after)}~`, limit);
  }

  /** @param endedBefore see `ListedClaim`: tokens that ended before this time. */
  claims(after: string, limit: number, endedBefore: Ms): ListedClaim[] {
    const query = `SELECT id, accessor, path, ends, entry, COUNT(*) AS rows FROM inventory
      WHERE accessor > ? GROUP BY accessor ORDER BY accessor LIMIT ?`;
    const rows = this.#sql.exec<ClaimedRow>(query, after, limit).toArray();
    return rows.map((row) => {
      const hasEnded = this.ended.hasEndedBefore(row.accessor, endedBefore);
      return { accessor: row.accessor, entry: claimIn(row), ...(hasEnded && { hasEnded }) };
    });
  }

  find(accessors: readonly string[]): ListedToken[] {
    return accessors.flatMap((accessor) => {
      const { known } = this.#probe(accessor);
      return known ? [tokenOf(known)] : [];
    });
  }

  has(accessor: string): boolean {
    return this.#probe(accessor).known !== null;
  }

  /** Returns the largest trees of a mount, at most `MAX_TREES`. Those of one size class are chosen arbitrarily. */
  largestTrees(mount: string): TreeSize[] {
    const query = `SELECT accessor AS root, tree_size AS count FROM inventory
      WHERE tree_mount = ? ORDER BY tree_class DESC LIMIT ?`;
    // More are read than returned, because trees of one size class are not ordered in the index.
    const trees = this.#sql.exec<{ root: string; count: number }>(query, mount, 2 * MAX_TREES).toArray();
    return trees.sort((a, b) => b.count - a.count).slice(0, MAX_TREES);
  }

  #isRevived({ accessor, expiresAt }: InventoryEntry, endedBefore: Ms | null): boolean {
    if (endedBefore === null || (expiresAt !== null && expiresAt <= endedBefore)) return false;
    return this.ended.hasEndedBefore(accessor, endedBefore);
  }

  #insert(token: ListedToken, size: number): void {
    const treeClass = classOfSize(size);
    this.#sql.exec(
      `INSERT INTO inventory (id, accessor, path, ends, tree_mount, tree_size, tree_class, entry)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      token.id,
      token.accessor,
      listedPath(token),
      keyOf(token, "end"),
      treeClass === null ? null : token.mount,
      treeClass === null ? null : size,
      treeClass,
      textOf(token),
    );
  }

  #update(known: KnownRow, entry: InventoryEntry, size: number | undefined): void {
    const before = readListedToken(known);
    // A tree that was evicted from memory does not know earlier uses.
    const token: ListedToken = { ...entry, lastUsed: entry.lastUsed ?? before?.lastUsed ?? null, id: known.id };
    const text = textOf(token);
    this.#set(known.id, {
      ...(text !== known.entry && { entry: text }),
      ...(token.expiresAt !== before?.expiresAt && { ends: keyOf(token, "end") }),
      ...(size !== undefined && this.#sizeColumns(known, token.mount, size)),
    });
    // The terms of a token never change.
    const createdAt = createdAtOf(token);
    if (before) this.index.moved(countsOf(before, createdAt), countsOf(token, createdAt));
  }

  #sizeColumns(known: KnownRow, mount: string, count: number): Record<string, SqlStorageValue> {
    const before = known.tree_size ?? 1;
    if (before === count) return {};
    const treeClass = classOfSize(count);
    const size = { tree_size: treeClass === null ? null : count };
    if (treeClass === classOfSize(before)) return size;
    return { ...size, tree_class: treeClass, tree_mount: treeClass === null ? null : mount };
  }

  #set(id: number, columns: Readonly<Record<string, SqlStorageValue>>): void {
    setColumns(this.#sql, "inventory", columns, "id = ?", id);
  }

  #deleteOne(accessor: string): TokenRowOfShard[] {
    const { known } = this.#probe(accessor);
    if (known) this.#sql.exec("DELETE FROM inventory WHERE id = ?", known.id);
    // A tampered row at another id is only found by its accessor. Its content is not trusted, so counters stay.
    else this.#sql.exec("DELETE FROM inventory WHERE accessor = ?", accessor);
    return known ? [known] : [];
  }

  /** Deletes tokens with one statement: a third of the time, but the items of the JSON list count as read rows. */
  #delete(accessors: readonly string[]): TokenRowOfShard[] {
    const statement = `DELETE FROM inventory WHERE accessor IN (SELECT value FROM json_each(?))
      RETURNING id, accessor, entry`;
    return this.#sql.exec<TokenRowOfShard>(statement, JSON.stringify(accessors)).toArray();
  }

  #place(accessor: string) {
    const { known, free } = this.#probe(accessor);
    const id = known?.id ?? free;
    if (id === null) throw new Error("no id is free for a token: too many of one moment in one shard");
    return { id, known };
  }

  #probe(accessor: string) {
    return findPlace<KnownRow>(this.#sql, "inventory", "id, accessor, ends, entry, tree_size", accessor);
  }
}

/** Returns the claim of an accessor's row. Without tampering there is one row, at an id of the token. */
function claimIn(row: ClaimedRow): ListedClaim["entry"] {
  const token = row.rows === 1 ? readListedToken(row) : null;
  if (!token) return "wrong";
  const place = decodeStoredId(row.accessor)?.row ?? Number.NaN;
  const isInPlace = row.id >= place && row.id < place + ID_PROBES;
  if (!isInPlace || row.path !== listedPath(token) || row.ends !== keyOf(token, "end")) return "wrong";
  return { fixed: fixedText(token), expiresAt: token.expiresAt };
}

/** Returns the terms and counters of a row's token; nothing for a tampered row that can't be read. */
function foundBy(row: TokenRowOfShard) {
  const token = readListedToken(row);
  return token ? [{ id: token.id, terms: termsOf(token), counts: countsOf(token, createdAtOf(token)) }] : [];
}

function textOf(token: InventoryEntry & { readonly id?: number }): string {
  const { accessor: _, id: _2, ...rest } = token;
  return JSON.stringify(rest);
}

/**
 * Returns the class by which trees of this size are indexed. Trees of one token are not indexed (null), because there
 * may be as many as tokens. Sizes that differ by less than a tenth can have one class, so that a growing tree does not
 * change the index with every token.
 */
function classOfSize(count: number): number | null {
  if (count <= 1) return null;
  return count <= EXACT ? count : EXACT + Math.floor(CLASSES * Math.log2(count / EXACT));
}
