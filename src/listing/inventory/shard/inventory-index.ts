import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { CountKey, CountKind, GroupCount } from "../index-terms.ts";
import { hasPostings, type TermDelta, writePostings, writeSearchedTerm } from "./postings.ts";

/** Number of changes of tokens that are written to postings and counters together. */
const BATCH = 128;
/** Length of the row of pending changes above which they are written too: a token can have many long policy names. */
const MAX_PENDING_CHARACTERS = 2 ** 19;
const MAX_GROUPS = 1000;

interface CountDelta extends CountKey {
  readonly n: number;
}

interface Stored {
  readonly changes: number;
  readonly counts: readonly (readonly [kind: CountKind, mount: string, key: string, n: number])[];
  readonly terms: readonly (readonly [term: string, added: readonly number[], gone: readonly number[]])[];
}

/**
 * Counters and postings of one shard. Every change updates them, so reading does not cost more with more tokens. One
 * row stores all changes that are pending, which are not in the tables yet, so that a call with any number of tokens
 * writes one row. Similar tokens of a batch share the rows that the batch writes to the tables. Readers add the pending
 * changes.
 */
export class InventoryIndex {
  readonly #sql: Sql;
  readonly #batch: number;
  #counts = new Map<string, CountDelta>();
  #terms = new Map<string, TermDelta>();
  #changes = 0;
  #isRead = false;
  #isDirty = false;

  constructor(sql: Sql, batch = BATCH) {
    this.#sql = sql;
    this.#batch = batch;
  }

  get terms(): ReadonlyMap<string, TermDelta> {
    this.#read();
    return this.#terms;
  }

  /** Returns the mounts that have tokens here, or (`first`) trees, with their numbers. */
  mounts(kind: "mount" | "first"): GroupCount[] {
    const stored = this.#groups(kind, "ORDER BY mount LIMIT ?", MAX_GROUPS);
    return withDeltas(stored, this.#deltas(kind)).slice(0, MAX_GROUPS);
  }

  /** Returns the largest groups of a kind among the tokens of a mount, at most `MAX_GROUPS`. */
  greatest(kind: CountKind, mount: string): GroupCount[] {
    const deltas = this.#deltas(kind, mount);
    const stored = this.#groups(kind, "AND mount = ? AND n > 1 ORDER BY n DESC LIMIT ?", mount, MAX_GROUPS);
    if (stored.length < MAX_GROUPS) {
      stored.push(...this.#groups(kind, "AND mount = ? ORDER BY key LIMIT ?", mount, MAX_GROUPS));
    }
    return withDeltas([...stored, ...this.#stored(kind, mount, [...deltas.keys()])], deltas)
      .sort((a, b) => b.count - a.count)
      .slice(0, MAX_GROUPS);
  }

  /** Counts the tokens of a mount in each of some groups. Groups without a token are left out. */
  countsOf(kind: CountKind, mount: string, keys: readonly string[]): GroupCount[] {
    const wanted = new Set(keys);
    const deltas = new Map([...this.#deltas(kind, mount)].filter(([key]) => wanted.has(key)));
    return withDeltas(this.#stored(kind, mount, keys), deltas);
  }

  /** Adds a token to the postings of its terms and to its counters (`by` 1), or removes it from them (-1). */
  token(id: number, terms: readonly string[], counters: readonly CountKey[], by: 1 | -1): void {
    this.#read();
    for (const term of terms) {
      const delta = this.#terms.get(term) ?? { added: new Set(), gone: new Set() };
      this.#terms.set(term, delta);
      const [to, from] = by === 1 ? [delta.added, delta.gone] : [delta.gone, delta.added];
      if (!from.delete(id)) to.add(id);
      if (delta.added.size + delta.gone.size === 0) this.#terms.delete(term);
    }
    for (const counter of counters) this.#count(counter, by);
    this.#changed();
  }

  /** Changes a counter, without counting as a change of the batch. */
  count(counter: CountKey, by: number): void {
    this.#read();
    this.#count(counter, by);
    this.#isDirty = true;
  }

  moved(from: readonly CountKey[], to: readonly CountKey[]): void {
    if (JSON.stringify(from) === JSON.stringify(to)) return;
    this.#read();
    for (const counter of from) this.#count(counter, -1);
    for (const counter of to) this.#count(counter, 1);
    this.#changed();
  }

  /** Stores the pending changes, or writes a full batch to the tables, in the transaction of the tokens' changes. */
  write(): void {
    if (!this.#isDirty) return;
    let pending = this.#changes < this.#batch ? this.#pending() : null;
    if (pending === null || pending.length > MAX_PENDING_CHARACTERS) {
      this.#fold();
      pending = this.#pending();
    }
    this.#sql.exec("INSERT OR REPLACE INTO pending (one, changes) VALUES (1, ?)", pending);
    this.#isDirty = false;
  }

  /** Forgets the pending changes in memory: they are read again. */
  forgetRead(): void {
    this.#counts.clear();
    this.#terms.clear();
    this.#changes = 0;
    this.#isRead = false;
    this.#isDirty = false;
  }

  /** The pending changes as they are stored. */
  #pending(): string {
    return JSON.stringify({
      changes: this.#changes,
      counts: [...this.#counts.values()].map(({ kind, mount, key, n }) => [kind, mount, key, n]),
      terms: [...this.#terms].map(([term, { added, gone }]) => [term, [...added], [...gone]]),
    } satisfies Stored);
  }

  #fold(): void {
    for (const { kind, mount, key, n } of this.#counts.values()) {
      // A counter that reaches zero is deleted.
      const emptied = "DELETE FROM counts WHERE kind = ? AND mount = ? AND key = ? AND n <= ?";
      if (n < 0 && this.#sql.exec(emptied, kind, mount, key, -n).rowsWritten > 0) continue;
      const added = `INSERT INTO counts (kind, mount, key, n) VALUES (?, ?, ?, ?)
        ON CONFLICT (kind, mount, key) DO UPDATE SET n = n + excluded.n`;
      this.#sql.exec(added, kind, mount, key, n);
    }
    for (const [term, delta] of this.#terms) {
      const wasUsed = hasPostings(this.#sql, term);
      writePostings(this.#sql, term, delta);
      const isUsed = hasPostings(this.#sql, term);
      if (isUsed !== wasUsed) writeSearchedTerm(this.#sql, term, isUsed);
    }
    this.#counts.clear();
    this.#terms.clear();
    this.#changes = 0;
  }

  #changed(): void {
    this.#changes++;
    this.#isDirty = true;
  }

  #count(counter: CountKey, by: number): void {
    const name = nameOf(counter);
    const n = (this.#counts.get(name)?.n ?? 0) + by;
    if (n === 0) this.#counts.delete(name);
    else this.#counts.set(name, { ...counter, n });
  }

  #read(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    const row = this.#sql.exec<{ changes: string }>("SELECT changes FROM pending").toArray()[0];
    if (!row) return;
    const { changes, counts, terms } = storedJson<Stored>(row.changes);
    this.#changes = changes;
    for (const [kind, mount, key, n] of counts) this.#counts.set(nameOf({ kind, mount, key }), { kind, mount, key, n });
    for (const [term, added, gone] of terms) this.#terms.set(term, { added: new Set(added), gone: new Set(gone) });
  }

  #stored(kind: CountKind, mount: string, keys: readonly string[]): GroupCount[] {
    if (keys.length === 0) return [];
    return this.#groups(kind, "AND mount = ? AND key IN (SELECT value FROM json_each(?))", mount, JSON.stringify(keys));
  }

  #deltas(kind: CountKind, mount?: string): ReadonlyMap<string, number> {
    this.#read();
    const deltas = [...this.#counts.values()].filter(
      (delta) => delta.kind === kind && (mount === undefined || delta.mount === mount),
    );
    return new Map(deltas.map(({ key, n }) => [key, n]));
  }

  #groups(kind: CountKind, which: string, ...values: readonly (string | number)[]): GroupCount[] {
    const query = `SELECT key, n AS count FROM counts WHERE kind = ? ${which}`;
    return this.#sql.exec<{ key: string; count: number }>(query, kind, ...values).toArray();
  }
}

function nameOf({ kind, mount, key }: CountKey): string {
  return `${kind} ${mount.length} ${mount}${key}`;
}

/** Returns groups with the pending changes added. `stored` can contain a group twice. */
function withDeltas(stored: readonly GroupCount[], deltas: ReadonlyMap<string, number>): GroupCount[] {
  const counts = new Map(stored.map(({ key, count }) => [key, count]));
  for (const [key, n] of deltas) counts.set(key, (counts.get(key) ?? 0) + n);
  return [...counts].map(([key, count]) => ({ key, count })).filter(({ count }) => count > 0);
}
