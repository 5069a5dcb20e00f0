import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { CountKey } from "../terms.ts";
import { hasPostings, type TermDelta, writePostings, writeSearchedTerm } from "./postings.ts";

/** Number of changes of tokens that are written to postings and counters together. */
const BATCH = 128;

/** A counter and the number `n` that is added to it. */
interface CountDelta extends CountKey {
  readonly n: number;
}

interface Stored {
  readonly changes: number;
  readonly counts: readonly (readonly [kind: CountKey["kind"], mount: string, key: string, n: number])[];
  readonly terms: readonly (readonly [term: string, added: readonly number[], gone: readonly number[]])[];
}

/**
 * Pending changes of one shard: those of counters and postings that are not in their tables yet. One row stores all of
 * them, so that a call with any number of tokens writes one row. Similar tokens of a batch share the rows that the
 * batch writes to the tables. Readers of these tables add the pending changes.
 */
export class Pending {
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

  get counts(): Iterable<CountDelta> {
    this.#read();
    return this.#counts.values();
  }

  /** Pending changes of postings, by term. */
  get terms(): ReadonlyMap<string, TermDelta> {
    this.#read();
    return this.#terms;
  }

  /** Adds a token to the postings of its terms and to its counters (`by` 1), or removes it from them (-1). */
  token(id: number, terms: readonly string[], counters: readonly CountKey[], by: 1 | -1): void {
    this.#read();
    for (const term of terms) this.#changeTerm(term, id, by);
    for (const counter of counters) this.#count(counter, by);
    this.#changed();
  }

  /** Changes a counter, without counting as a change of the batch. */
  count(counter: CountKey, by: number): void {
    this.#read();
    this.#count(counter, by);
    this.#isDirty = true;
  }

  /** Moves a token from some counters to others. */
  moved(from: readonly CountKey[], to: readonly CountKey[]): void {
    this.#read();
    const names = { from: new Set(from.map(nameOf)), to: new Set(to.map(nameOf)) };
    const left = from.filter((counter) => !names.to.has(nameOf(counter)));
    const come = to.filter((counter) => !names.from.has(nameOf(counter)));
    if (left.length + come.length === 0) return;
    for (const counter of left) this.#count(counter, -1);
    for (const counter of come) this.#count(counter, 1);
    this.#changed();
  }

  /** Stores the pending changes, or writes a full batch to the tables, in the transaction of the tokens' changes. */
  write(): void {
    if (!this.#isDirty) return;
    if (this.#changes >= this.#batch) this.#fold();
    this.#sql.exec("INSERT OR REPLACE INTO pending (one, changes) VALUES (1, ?)", this.#text());
    this.#isDirty = false;
  }

  #fold(): void {
    writeCounts(this.#sql, this.#counts.values());
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

  #changeTerm(term: string, id: number, by: 1 | -1): void {
    const delta = this.#terms.get(term) ?? { added: new Set(), gone: new Set() };
    this.#terms.set(term, delta);
    const [to, from] = by === 1 ? [delta.added, delta.gone] : [delta.gone, delta.added];
    if (!from.delete(id)) to.add(id);
    if (delta.added.size + delta.gone.size === 0) this.#terms.delete(term);
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
    for (const [term, added, gone] of terms) {
      this.#terms.set(term, { added: new Set(added), gone: new Set(gone) });
    }
  }

  #text(): string {
    const stored: Stored = {
      changes: this.#changes,
      counts: [...this.#counts.values()].map(({ kind, mount, key, n }) => [kind, mount, key, n]),
      terms: [...this.#terms].map(([term, { added, gone }]) => [term, [...added], [...gone]]),
    };
    return JSON.stringify(stored);
  }
}

/** Returns a text that is unique for the counter. */
function nameOf({ kind, mount, key }: CountKey): string {
  return `${kind} ${mount.length} ${mount}${key}`;
}

/** Writes changes of counters. A counter that reaches zero is deleted. */
function writeCounts(sql: Sql, deltas: Iterable<CountDelta>): void {
  for (const { kind, mount, key, n } of deltas) {
    const emptied = "DELETE FROM counts WHERE kind = ? AND mount = ? AND key = ? AND n <= ?";
    if (n < 0 && sql.exec(emptied, kind, mount, key, -n).rowsWritten > 0) continue;
    const added = `INSERT INTO counts (kind, mount, key, n) VALUES (?, ?, ?, ?)
      ON CONFLICT (kind, mount, key) DO UPDATE SET n = n + excluded.n`;
    sql.exec(added, kind, mount, key, n);
  }
}
