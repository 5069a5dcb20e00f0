import { columnOf, type Sql } from "../../../storage/tables.ts";
import { decodeStoredId, TREE_CHARACTERS, treePartOf } from "../../../token/ids.ts";
import {
  createdAtOf,
  fixedText,
  type InventoryEntry,
  type ListedClaim,
  type ListedToken,
  listedPath,
} from "../entry.ts";
import { keyOf } from "../order.ts";
import { countsOf, termsOf } from "../terms.ts";
import { InventoryCounts } from "./counts.ts";
import { EndedTokens, type Ending } from "./ended.ts";
import { ShardPages } from "./pages.ts";
import { Pending } from "./pending.ts";
import { findPlace, ID_PROBES, type TokenRowOfShard, tokenOf } from "./tables.ts";
import { classOfSize, MAX_TREES, type TreeSize } from "./tree-size.ts";

/** So many tokens are deleted one by one. */
const FEW = 16;
/** Trees that are read to find the largest ones: those of one class are in no order. */
const READ_TREES = 2 * MAX_TREES;

/** Updates of a shard. */
export interface InventoryUpdate {
  /** New tokens. */
  readonly made?: readonly InventoryEntry[];
  /** Tokens of which something has changed. One that is not kept, or not any more, is left out. */
  readonly changed?: readonly InventoryEntry[];
  readonly sizes?: readonly TreeSize[];
}

type KnownRow = TokenRowOfShard & { tree_size: number | null };

/** A row with all that can be compared, and how many its accessor has. */
type ClaimedRow = TokenRowOfShard & { path: string; ends: number; rows: number };

/** A row with the place that it has, or would have. */
interface Place {
  readonly id: number;
  readonly known: KnownRow | null;
}

/** The inventory of one shard: a row for each token that pages are read from, the ids that terms have, and counters. */
export class InventoryStore {
  readonly #sql: Sql;
  readonly #pending: Pending;
  readonly pages: ShardPages;
  readonly counts: InventoryCounts;
  /** What has ended lately. */
  readonly ended: EndedTokens;

  /**
   * @param batch changes of tokens that lists of ids and counters are written for together; absent: as many as fit a row.
   * @param most tokens that are kept after their end.
   */
  constructor(sql: Sql, batch?: number, most?: Readonly<Record<"job" | "other", number>>) {
    this.#sql = sql;
    this.#pending = new Pending(sql, batch);
    this.counts = new InventoryCounts(sql, this.#pending);
    this.pages = new ShardPages(sql, this.#pending, this.counts);
    this.ended = new EndedTokens(sql, this.#pending, this.counts, most);
  }

  /** Keeps what is known of tokens now, and of trees whose oldest token is here. Safe to repeat. */
  put({ made = [], changed = [], sizes = [] }: InventoryUpdate): void {
    const sizeOf = new Map(sizes.map(({ root, count }) => [root, count]));
    const isNew = new Set(made);
    for (const entry of [...made, ...changed]) {
      const { id, known } = this.#place(entry.accessor);
      if (!known && !isNew.has(entry)) continue;
      if (known) this.#update(known, entry, sizeOf.get(entry.accessor));
      else this.#insert(id, entry, sizeOf.get(entry.accessor) ?? 1);
      sizeOf.delete(entry.accessor);
    }
    for (const [root, count] of sizeOf) {
      const { known } = this.#place(root);
      if (known) this.#set(known.id, this.#sizeColumns(known, tokenOf(known).mount, count));
    }
    this.#pending.write();
  }

  /**
   * Forgets tokens, and keeps how they ended. Safe to repeat.
   *
   * @param endingsOf what is to be kept, of the tokens that were here; absent: nothing.
   */
  remove(
    accessors: readonly string[],
    endingsOf: (gone: readonly TokenRowOfShard[]) => readonly Ending[] = () => [],
  ): void {
    const gone =
      accessors.length > FEW ? this.#delete(accessors) : accessors.flatMap((accessor) => this.#deleteOne(accessor));
    for (const { id, terms, counts } of gone.flatMap(foundBy)) this.#pending.token(id, terms, counts, -1);
    this.ended.add(endingsOf(gone), gone);
    this.#pending.write();
  }

  /**
   * Replaces tampered rows by what the trees say of their tokens. A token that was taken off
   * meanwhile stays off. The counters stay: they had the tokens before.
   */
  replace(entries: readonly InventoryEntry[]): void {
    for (const entry of entries) {
      const { id, known } = this.#place(entry.accessor);
      const token: ListedToken = { ...entry, lastUsed: entry.lastUsed ?? lastUseIn(known), id };
      // One that was moved away from its place can be found by its accessor alone.
      const moved = this.#sql.exec("DELETE FROM inventory WHERE accessor = ? AND id <> ?", entry.accessor, id);
      if (!known && moved.rowsWritten === 0) continue;
      if (known) this.#set(id, { path: listedPath(entry), ends: keyOf(token, "end"), entry: textOf(token) });
      else this.#insertRow(token, 1);
      this.#pending.token(id, termsOf(token), [], 1);
    }
    this.#pending.write();
  }

  /** Drops rows of tokens that are not this shard's, wherever they are. */
  discard(accessors: readonly string[]): void {
    if (accessors.length === 0) return;
    const statement = "DELETE FROM inventory WHERE accessor IN (SELECT value FROM json_each(?))";
    this.#sql.exec(statement, JSON.stringify(accessors));
  }

  /** At most `limit` accessors after `after`, in order. */
  list(after: string, limit: number): string[] {
    const query = "SELECT accessor FROM inventory WHERE accessor > ? ORDER BY accessor LIMIT ?";
    return columnOf(this.#sql, query, after, limit);
  }

  /** The first accessors that are listed of trees, at most `limit`, one of each, in order: those of trees after that of `after`. */
  treesAfter(after: string, limit: number): string[] {
    // From tree to tree by the index: "~" comes after all characters of an accessor.
    const query = `WITH RECURSIVE firsts (a) AS (
        SELECT MIN(accessor) FROM inventory WHERE accessor > ?
        UNION ALL
        SELECT (SELECT MIN(accessor) FROM inventory WHERE accessor > substr(a, 1, ${TREE_CHARACTERS}) || '~')
        FROM firsts WHERE a IS NOT NULL LIMIT ?
      )
      SELECT a FROM firsts WHERE a IS NOT NULL`;
    return columnOf(this.#sql, query, after === "" ? "" : `${treePartOf(after)}~`, limit);
  }

  /** What is kept of the tokens after `after`, in the order of accessors, for their trees to compare: at most `limit` tokens. */
  claims(after: string, limit: number): ListedClaim[] {
    const query = `SELECT id, accessor, path, ends, entry, COUNT(*) AS rows FROM inventory
      WHERE accessor > ? GROUP BY accessor ORDER BY accessor LIMIT ?`;
    const rows = this.#sql.exec<ClaimedRow>(query, after, limit).toArray();
    return rows.map((row) => ({ accessor: row.accessor, entry: claimIn(row) }));
  }

  /** What is kept of the tokens with these accessors. */
  find(accessors: readonly string[]): ListedToken[] {
    return accessors.flatMap((accessor) => {
      const known = this.#find(accessor);
      return known ? [tokenOf(known)] : [];
    });
  }

  /** True for a token that is kept. */
  has(accessor: string): boolean {
    return this.#find(accessor) !== null;
  }

  /** The largest trees whose first token is of a mount, at most `MAX_TREES`. Of about equal ones any are named. */
  largestTrees(mount: string): TreeSize[] {
    const query = `SELECT accessor AS root, tree_size AS count FROM inventory
      WHERE tree_mount = ? ORDER BY tree_class DESC LIMIT ?`;
    const trees = this.#sql.exec<{ root: string; count: number }>(query, mount, READ_TREES).toArray();
    return trees.sort((a, b) => b.count - a.count).slice(0, MAX_TREES);
  }

  #insert(id: number, entry: InventoryEntry, size: number): void {
    const token: ListedToken = { ...entry, id };
    this.#insertRow(token, size);
    this.#pending.token(id, termsOf(entry), countsOf(entry, createdAtOf(token)), 1);
  }

  #insertRow(token: ListedToken, size: number): void {
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
    const before = tokenOf(known);
    // A tree that was away does not know of uses before.
    const token: ListedToken = { ...entry, lastUsed: entry.lastUsed ?? before.lastUsed ?? null, id: known.id };
    const text = textOf(token);
    this.#set(known.id, {
      ...(text !== known.entry && { entry: text }),
      ...(token.expiresAt !== before.expiresAt && { ends: keyOf(token, "end") }),
      ...(size !== undefined && this.#sizeColumns(known, token.mount, size)),
    });
    // What a token is found by never changes.
    const createdAt = createdAtOf(token);
    this.#pending.moved(countsOf(before, createdAt), countsOf(token, createdAt));
  }

  /** The columns that a tree's new size changes. */
  #sizeColumns(known: KnownRow, mount: string, count: number): Record<string, SqlStorageValue> {
    const before = known.tree_size ?? 1;
    if (before === count) return {};
    const treeClass = classOfSize(count);
    const size = { tree_size: treeClass === null ? null : count };
    if (treeClass === classOfSize(before)) return size;
    return { ...size, tree_class: treeClass, tree_mount: treeClass === null ? null : mount };
  }

  /** Writes columns of a row; an index that none of them is in costs nothing. */
  #set(id: number, columns: Readonly<Record<string, SqlStorageValue>>): void {
    const names = Object.keys(columns);
    if (names.length === 0) return;
    const assignments = names.map((name) => `${name} = ?`).join(", ");
    this.#sql.exec(`UPDATE inventory SET ${assignments} WHERE id = ?`, ...Object.values(columns), id);
  }

  #deleteOne(accessor: string): TokenRowOfShard[] {
    const known = this.#find(accessor);
    if (known) this.#sql.exec("DELETE FROM inventory WHERE id = ?", known.id);
    // A tampered row in another place can be found by its accessor alone. Counters stay: it may say anything.
    else this.#sql.exec("DELETE FROM inventory WHERE accessor = ?", accessor);
    return known ? [known] : [];
  }

  /** One statement for all of them takes a third of the time, and reads more rows: those of the list are counted too. */
  #delete(accessors: readonly string[]): TokenRowOfShard[] {
    return this.#sql
      .exec<TokenRowOfShard>(
        `DELETE FROM inventory WHERE accessor IN (SELECT value FROM json_each(?)) RETURNING id, accessor, entry`,
        JSON.stringify(accessors),
      )
      .toArray();
  }

  #find(accessor: string): KnownRow | null {
    return this.#probe(accessor).known;
  }

  #place(accessor: string): Place {
    const { known, free } = this.#probe(accessor);
    const id = known?.id ?? free;
    if (id === null) throw new Error("no id is free for a token: too many of one moment in one shard");
    return { id, known };
  }

  #probe(accessor: string) {
    return findPlace<KnownRow>(this.#sql, "inventory", "id, accessor, entry, tree_size", accessor);
  }
}

/** What an accessor's row says of its token. There is one, in its place, unless the table was tampered with. */
function claimIn(row: ClaimedRow): ListedClaim["entry"] {
  const token = row.rows === 1 ? readToken(row) : null;
  if (!token) return "wrong";
  const place = decodeStoredId(row.accessor)?.row ?? Number.NaN;
  const isInPlace = row.id >= place && row.id < place + ID_PROBES;
  if (!isInPlace || row.path !== listedPath(token) || row.ends !== keyOf(token, "end")) return "wrong";
  return { fixed: fixedText(token), expiresAt: token.expiresAt };
}

/** What the token of a row is found and counted by; nothing for a tampered row that can't be read. */
function foundBy(row: TokenRowOfShard) {
  try {
    const token = tokenOf(row);
    return [{ id: token.id, terms: termsOf(token), counts: countsOf(token, createdAtOf(token)) }];
  } catch {
    return [];
  }
}

/** What a row says; null when it says nothing that can be read. */
function readToken(row: TokenRowOfShard): ListedToken | null {
  try {
    return tokenOf(row);
  } catch {
    return null;
  }
}

/** The last use that a row says. Only the list knows of uses that are longer ago. */
function lastUseIn(row: TokenRowOfShard | null): number | null {
  return (row && readToken(row)?.lastUsed) ?? null;
}

function textOf(token: InventoryEntry & { readonly id?: number }): string {
  const { accessor: _, id: _2, ...rest } = token;
  return JSON.stringify(rest);
}
