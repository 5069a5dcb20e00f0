import type { Sql } from "../storage/tables.ts";
import { reportTampering } from "../storage/tampering.ts";
import { UNASKED } from "../system/end-request.ts";
import { TREE_CHARACTERS, treePartOf } from "../token/ids.ts";
import type { InventoryEntry } from "./inventory/entry.ts";
import type { ListedClaim } from "./inventory/listed-claim.ts";
import type { Ending } from "./inventory/shard/ended.ts";
import type { InventoryStore } from "./inventory/shard/inventory-store.ts";
import type { TreeSize } from "./inventory/shard/tree-size.ts";
import { LISTED } from "./lease-index.ts";

/** What the list of tokens needs of the shard around it. */
interface ListedTokensDeps {
  readonly sql: Sql;
  readonly inventory: InventoryStore;
  /** Id of the object. */
  readonly object: string;
  /** True for an accessor whose place is this shard. */
  readonly isOwn: (accessor: string) => boolean;
  /** Asks the trees of tokens what the inventory keeps of them. */
  readonly describe: (accessors: readonly string[]) => Promise<readonly InventoryEntry[]>;
  /** Notified of tokens that are listed now, or end at another time. */
  readonly changed: (entries: readonly InventoryEntry[]) => void;
}

/** Which tokens a shard lists: those of the inventory, and those that tidy has listed and of which nothing else is known yet. */
export class ListedTokens {
  readonly #shard: ListedTokensDeps;

  constructor(shard: ListedTokensDeps) {
    this.#shard = shard;
  }

  /** Keeps what trees publish. One of `changed` that is not on the list, or not any more, is left out. */
  put(made: readonly InventoryEntry[], changed: readonly InventoryEntry[], sizes: readonly TreeSize[] = []): void {
    const hasUnknown = this.#hasUnknown;
    const isListed = (accessor: string) => hasUnknown && this.#isUnknown(accessor);
    this.#shard.inventory.put({ made, changed, sizes, isListed });
    const entries = [...made, ...changed];
    if (hasUnknown) this.#forgetUnknown(entries.map(({ accessor }) => accessor));
    this.#shard.changed(entries);
  }

  /** Lists those of `tokens` that are not listed. Returns how many that were. */
  relist(tokens: readonly { readonly accessor: string; readonly path: string }[]): number {
    const { sql, inventory } = this.#shard;
    const missing = tokens.filter(({ accessor }) => !inventory.has(accessor) && !this.#isUnknown(accessor));
    for (const { accessor, path } of missing) {
      sql.exec("INSERT INTO accessors (accessor, path) VALUES (?, ?)", accessor, path);
    }
    return missing.length;
  }

  /**
   * Drops tokens from the list and, if `keeps`, keeps how they ended: of one that is named by its accessor alone, the way in which it
   * ended is not known. Safe to repeat.
   */
  remove(tokens: readonly (string | Ending)[], keeps: boolean, now: number): void {
    const accessors = tokens.map((token) => (typeof token === "string" ? token : token.accessor));
    if (this.#hasUnknown) this.#forgetUnknown(accessors);
    this.#shard.inventory.remove(accessors, (gone) => {
      if (!keeps) return [];
      const had = new Set(gone.map(({ accessor }) => accessor));
      return tokens.flatMap((token): Ending[] => {
        if (typeof token !== "string") return [token];
        return had.has(token) ? [{ accessor: token, end: { ...UNASKED, at: now, how: "tidy", cause: token } }] : [];
      });
    });
  }

  /** At most `limit` accessors after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#accessors(LISTED, after, limit);
  }

  /** The first accessors that are listed of trees, at most `limit`, one of each, in order: those of trees after that of `after`. */
  treesAfter(after: string, limit: number): string[] {
    const found = new Map<string, string>();
    for (const table of ["inventory", "accessors"]) {
      for (const accessor of this.#treesIn(table, after, limit)) found.set(treePartOf(accessor), accessor);
    }
    return [...found.values()].sort().slice(0, limit);
  }

  #treesIn(table: string, after: string, limit: number): string[] {
    // From tree to tree by the index: "~" comes after all characters of an accessor.
    return this.#shard.sql
      .exec<{ a: string }>(
        `WITH RECURSIVE firsts (a) AS (
           SELECT MIN(accessor) FROM ${table} WHERE accessor > ?
           UNION ALL
           SELECT (SELECT MIN(accessor) FROM ${table} WHERE accessor > substr(a, 1, ${TREE_CHARACTERS}) || '~')
           FROM firsts WHERE a IS NOT NULL LIMIT ?
         )
         SELECT a FROM firsts WHERE a IS NOT NULL`,
        after === "" ? "" : `${treePartOf(after)}~`,
        limit,
      )
      .toArray()
      .map(({ a }) => a);
  }

  /** What is listed after `after`, at most `limit` tokens in order, for tidy to compare with their trees. */
  claims(after: string, limit: number): ListedClaim[] {
    const { inventory, isOwn } = this.#shard;
    const unknown = this.#accessors("accessors", after, limit);
    const claims = [
      ...inventory.claims(after, limit),
      ...unknown.map((accessor): ListedClaim => ({ accessor, entry: "missing" })),
    ];
    const page = claims.sort((a, b) => (a.accessor < b.accessor ? -1 : 1)).slice(0, limit);
    return page.map((claim) => (isOwn(claim.accessor) ? claim : { ...claim, entry: "wrong" }));
  }

  /**
   * Asks trees about tokens that the inventory lacks or has otherwise than they: a tree that crashes right after an answer publishes
   * nothing of it. Safe to repeat.
   *
   * @param wrong those of which the inventory has what no tree has published: that is reported as tampering.
   */
  async describeAnew(stale: readonly string[], wrong: readonly string[]): Promise<void> {
    const { inventory, object, isOwn, describe } = this.#shard;
    for (const accessor of wrong) reportTampering({ kind: "inventory entry", object, row: accessor });
    const described = await describe([...new Set([...stale, ...wrong])]);
    const isWrong = new Set(wrong);
    this.put(
      [],
      described.filter(({ accessor }) => !isWrong.has(accessor)),
    );
    inventory.replace(described.filter(({ accessor }) => isWrong.has(accessor) && isOwn(accessor)));
    inventory.discard(wrong.filter((accessor) => !isOwn(accessor)));
  }

  #accessors(from: string, after: string, limit: number): string[] {
    return this.#shard.sql
      .exec<{ accessor: string }>(
        `SELECT accessor FROM ${from} WHERE accessor > ? ORDER BY accessor LIMIT ?`,
        after,
        limit,
      )
      .toArray()
      .map(({ accessor }) => accessor);
  }

  /** False nearly always: something is known of every token that is listed. */
  get #hasUnknown(): boolean {
    return this.#shard.sql.exec("SELECT 1 FROM accessors LIMIT 1").toArray().length > 0;
  }

  /** True for a token that is listed, and of which nothing else is known. */
  #isUnknown(accessor: string): boolean {
    return this.#shard.sql.exec("SELECT 1 FROM accessors WHERE accessor = ?", accessor).toArray().length > 0;
  }

  #forgetUnknown(accessors: readonly string[]): void {
    this.#shard.sql.exec(
      "DELETE FROM accessors WHERE accessor IN (SELECT value FROM json_each(?))",
      JSON.stringify(accessors),
    );
  }
}
