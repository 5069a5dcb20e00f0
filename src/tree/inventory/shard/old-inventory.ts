import { decodeStoredId } from "../../../token/ids.ts";
import type { InventoryEntry } from "../entry.ts";
import { type TokenRowOfShard, tokenOf } from "./row.ts";

/** In the tables of before the id of a token was the first free one of so many from its row number on. */
const ID_PROBES = 64;

/** The size of a tree as it was kept before. */
export interface OldTreeSize {
  readonly tree: string;
  readonly root: string;
  readonly count: number;
}

/** What a release before this inventory stored in a shard, until the alarm has moved it. */
export class OldInventory {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** At most `limit` accessors after `after` that have not been moved, in order. */
  accessors(after: string, limit: number): string[] {
    return this.#sql
      .exec<{ accessor: string }>(
        "SELECT accessor FROM accessors WHERE accessor > ? ORDER BY accessor LIMIT ?",
        ...[after, limit],
      )
      .toArray()
      .map(({ accessor }) => accessor);
  }

  /** What was known of tokens, and the accessors of those of which nothing was. */
  entries(accessors: readonly string[]): { entries: InventoryEntry[]; missing: string[] } {
    const found = accessors.map((accessor) => [accessor, this.#entry(accessor)] as const);
    return {
      entries: found.flatMap(([, entry]) => entry ?? []),
      missing: found.flatMap(([accessor, entry]) => (entry ? [] : [accessor])),
    };
  }

  /** At most `limit` sizes of trees that have not been moved. */
  sizes(limit: number): OldTreeSize[] {
    return this.#sql
      .exec<{ tree: string; root: string; count: number }>("SELECT tree, root, n AS count FROM trees LIMIT ?", limit)
      .toArray();
  }

  /** These sizes have been moved. */
  forgetSizes(trees: readonly string[]): void {
    this.#sql.exec("DELETE FROM trees WHERE tree IN (SELECT value FROM json_each(?))", JSON.stringify(trees));
  }

  /** Everything has been moved. */
  drop(): void {
    this.#sql.exec("DELETE FROM filling");
    this.#sql.exec("DELETE FROM old_inventory");
  }

  #entry(accessor: string): InventoryEntry | null {
    const row = decodeStoredId(accessor)?.row;
    if (row === undefined) return null;
    const found = this.#sql
      .exec<TokenRowOfShard>(
        "SELECT id, accessor, entry FROM old_inventory WHERE id BETWEEN ? AND ? AND accessor = ?",
        ...[row, row + ID_PROBES - 1, accessor],
      )
      .toArray()[0];
    if (!found) return null;
    const { id: _, ...entry } = tokenOf(found);
    return entry;
  }
}
