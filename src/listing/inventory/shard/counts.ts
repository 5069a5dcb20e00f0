import type { Sql } from "../../../storage/tables.ts";
import type { GroupCount } from "../group-sums.ts";
import type { CountKind } from "../terms.ts";
import type { Pending } from "./pending.ts";

const MAX_GROUPS = 1000;

/** Counters of one shard. Every change updates them, so reading does not cost more with more tokens. */
export class InventoryCounts {
  readonly #sql: Sql;
  readonly #pending: Pending;

  constructor(sql: Sql, pending: Pending) {
    this.#sql = sql;
    this.#pending = pending;
  }

  /** Returns the mounts that have tokens here, or (`first`) trees, with their numbers. */
  mounts(kind: "mount" | "first"): GroupCount[] {
    const stored = this.#groups(kind, "ORDER BY mount LIMIT ?", MAX_GROUPS);
    return withDeltas(stored, this.#deltas(kind)).slice(0, MAX_GROUPS);
  }

  /** Returns the largest groups of a kind among the tokens of a mount, at most `MAX_GROUPS`. */
  greatest(kind: CountKind, mount: string): GroupCount[] {
    const deltas = this.#deltas(kind, mount);
    const stored = [...this.#greatestStored(kind, mount), ...this.#stored(kind, mount, [...deltas.keys()])];
    return withDeltas(stored, deltas)
      .sort((a, b) => b.count - a.count)
      .slice(0, MAX_GROUPS);
  }

  /** Counts the tokens of a mount in each of some groups. Groups without a token are left out. */
  of(kind: CountKind, mount: string, keys: readonly string[]): GroupCount[] {
    const wanted = new Set(keys);
    const deltas = new Map([...this.#deltas(kind, mount)].filter(([key]) => wanted.has(key)));
    return withDeltas(this.#stored(kind, mount, keys), deltas);
  }

  #greatestStored(kind: CountKind, mount: string): GroupCount[] {
    const several = this.#groups(kind, "AND mount = ? AND n > 1 ORDER BY n DESC LIMIT ?", mount, MAX_GROUPS);
    if (several.length === MAX_GROUPS) return several;
    return [...several, ...this.#groups(kind, "AND mount = ? ORDER BY key LIMIT ?", mount, MAX_GROUPS)];
  }

  #stored(kind: CountKind, mount: string, keys: readonly string[]): GroupCount[] {
    if (keys.length === 0) return [];
    return this.#groups(kind, "AND mount = ? AND key IN (SELECT value FROM json_each(?))", mount, JSON.stringify(keys));
  }

  #deltas(kind: CountKind, mount?: string): ReadonlyMap<string, number> {
    const deltas = [...this.#pending.counts].filter(
      (delta) => delta.kind === kind && (mount === undefined || delta.mount === mount),
    );
    return new Map(deltas.map(({ key, n }) => [key, n]));
  }

  #groups(kind: CountKind, which: string, ...values: readonly (string | number)[]): GroupCount[] {
    const query = `SELECT key, n AS count FROM counts WHERE kind = ? ${which}`;
    return this.#sql.exec<{ key: string; count: number }>(query, kind, ...values).toArray();
  }
}

/** Returns groups with the pending changes added. `stored` can contain a group twice. */
function withDeltas(stored: readonly GroupCount[], deltas: ReadonlyMap<string, number>): GroupCount[] {
  const counts = new Map(stored.map(({ key, count }) => [key, count]));
  for (const [key, n] of deltas) counts.set(key, (counts.get(key) ?? 0) + n);
  return [...counts].map(([key, count]) => ({ key, count })).filter(({ count }) => count > 0);
}
