import type { CountKey, CountKind } from "./terms.ts";

/** A group of tokens and how many there are. */
export interface GroupCount {
  readonly key: string;
  readonly count: number;
}

/** A tree with more than one token. */
export interface TreeSize {
  readonly tree: string;
  /** As in the entries. */
  readonly mount: string;
  /** Accessor of its oldest token. */
  readonly root: string;
  readonly count: number;
}

/** Groups that one shard names. */
const MAX_GROUPS = 1000;
/** Trees that one shard names for each mount. */
const MAX_TREES = 200;

/** Counters of one shard, kept with every change, so that reading them does not depend on how many tokens there are. */
export class InventoryCounts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Collects changes, so that many tokens of one group cost one row. */
  change(): CountChange {
    return new CountChange(this.#sql);
  }

  /** The mounts that have tokens here, with their numbers. */
  mounts(kind: "mount" | "first"): GroupCount[] {
    return this.#groups("SELECT key, n FROM counts WHERE kind = ? ORDER BY mount LIMIT ?", kind, MAX_GROUPS);
  }

  /** The greatest groups of a kind among the tokens of a mount, at most `MAX_GROUPS`. */
  greatest(kind: CountKind, mount: string): GroupCount[] {
    const several = this.#groups(
      "SELECT key, n FROM counts WHERE kind = ? AND mount = ? AND n > 1 ORDER BY n DESC LIMIT ?",
      ...[kind, mount, MAX_GROUPS],
    );
    if (several.length === MAX_GROUPS) return several;
    const known = new Set(several.map(({ key }) => key));
    const first = this.#groups(
      "SELECT key, n FROM counts WHERE kind = ? AND mount = ? ORDER BY key LIMIT ?",
      ...[kind, mount, MAX_GROUPS],
    );
    return [...several, ...first.filter(({ key }) => !known.has(key))].slice(0, MAX_GROUPS);
  }

  /** How many tokens of a mount are in each of some groups; those without a token are left out. */
  of(kind: CountKind, mount: string, keys: readonly string[]): GroupCount[] {
    return this.#groups(
      "SELECT key, n FROM counts WHERE kind = ? AND mount = ? AND key IN (SELECT value FROM json_each(?))",
      ...[kind, mount, JSON.stringify(keys)],
    );
  }

  /** Keeps the size of a tree; one of a single token is not kept. Safe to repeat. */
  setTree({ tree, mount, root, count }: TreeSize): void {
    if (count <= 1) {
      this.#sql.exec("DELETE FROM trees WHERE tree = ?", tree);
      return;
    }
    this.#sql.exec(
      `INSERT INTO trees (tree, mount, root, n) VALUES (?, ?, ?, ?)
       ON CONFLICT (tree) DO UPDATE SET mount = excluded.mount, root = excluded.root, n = excluded.n`,
      tree,
      mount,
      root,
      count,
    );
  }

  /** The largest trees of a mount, at most `MAX_TREES`. */
  largestTrees(mount: string): TreeSize[] {
    return this.#sql
      .exec<{ tree: string; mount: string; root: string; n: number }>(
        "SELECT tree, mount, root, n FROM trees WHERE mount = ? ORDER BY n DESC LIMIT ?",
        mount,
        MAX_TREES,
      )
      .toArray()
      .map(({ n, ...tree }) => ({ ...tree, count: n }));
  }

  #groups(query: string, ...values: SqlStorageValue[]): GroupCount[] {
    return this.#sql
      .exec<{ key: string; n: number }>(query, ...values)
      .toArray()
      .map(({ key, n }) => ({ key, count: n }));
  }
}

/** Changes of counters that are written together. */
class CountChange {
  readonly #sql: SqlStorage;
  readonly #deltas = new Map<string, CountKey & { n: number }>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds `by` to each counter. */
  add(counters: readonly CountKey[], by: 1 | -1): void {
    for (const counter of counters) {
      const name = JSON.stringify([counter.kind, counter.mount, counter.key]);
      const known = this.#deltas.get(name) ?? { ...counter, n: 0 };
      known.n += by;
      this.#deltas.set(name, known);
    }
  }

  /** Writes what was collected. */
  apply(): void {
    for (const { kind, mount, key, n } of this.#deltas.values()) {
      if (n === 0) continue;
      this.#sql.exec(
        `INSERT INTO counts (kind, mount, key, n) VALUES (?, ?, ?, ?)
         ON CONFLICT (kind, mount, key) DO UPDATE SET n = n + excluded.n`,
        ...[kind, mount, key, n],
      );
      if (n > 0) continue;
      this.#sql.exec("DELETE FROM counts WHERE kind = ? AND mount = ? AND key = ? AND n <= 0", ...[kind, mount, key]);
    }
  }
}
