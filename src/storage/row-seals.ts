import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { RowKeys, RowPlace, SealedContent, SealedKind, SealVerdict } from "../crypto/row-keys.ts";

/** Characters of rows that an object remembers as checked. */
const MAX_CHECKED_CHARACTERS = 2 ** 17;

/** A row with its seal. */
export interface SealedRow {
  readonly kind: SealedKind;
  /** Key of the row in its table. */
  readonly row: string | number;
  readonly content: SealedContent;
  /** As stored; null without one. */
  readonly seal: ArrayBuffer | null;
}

/** Values of the columns of a primary key. */
export type RowKey = readonly (string | number)[];

/** What a check of some rows found. */
export interface CheckedRows {
  /** Rows that got a seal of a newer term. */
  readonly sealed: number;
  /** Rows whose seal does not hold. */
  readonly tampered: number;
  /** Terms of the keys under which values in these rows are sealed: each stays as long as it is needed. */
  readonly terms: readonly number[];
}

/** What a check of the next rows of a table found. */
export interface CheckedPage extends CheckedRows {
  /** How many rows that were. */
  readonly count: number;
  /** The key of the last of them; null without any. */
  readonly last: RowKey | null;
}

/** A table as a check of all seals sees it. */
export interface CheckedTable {
  /** Checks at most `limit` rows after the one with the key `after` (null: from the first), and renews their seals. */
  checkAfter(after: RowKey | null, limit: number): CheckedPage;
  /** Seals all rows. */
  sealAll(): void;
}

/**
 * The seals of the rows of one object, see docs/decisions/0007. Rows that decide about access are written with a seal and
 * admitted by it when they are read.
 */
export class RowSeals {
  readonly #object: string;
  readonly #keys: () => RowKeys | null;
  readonly #tables: CheckedTable[] = [];
  /** Rows whose seal was found good, as text, with the seal. A row with another content or seal is checked again. */
  #checked = new GenerationalCache<string, Uint8Array>(MAX_CHECKED_CHARACTERS);
  /** The keys with which they were checked. */
  #checkedWith: RowKeys | null = null;

  /**
   * @param object id of the object.
   * @param keys null while the installation has no keys: nothing can be sealed, and there is nothing to protect yet.
   */
  constructor(object: string, keys: () => RowKeys | null) {
    this.#object = object;
    this.#keys = keys;
  }

  /** Adds a table: a check of the object's seals goes through all of them. */
  add(table: CheckedTable): void {
    this.#tables.push(table);
  }

  /** The tables that were added, in that order. */
  get tables(): readonly CheckedTable[] {
    return this.#tables;
  }

  /** Seals all rows, when the installation gets its keys. */
  sealAll(): void {
    for (const table of this.#tables) table.sealAll();
  }

  /** The seal for a row that is being written. */
  make(kind: SealedKind, row: string | number, content: SealedContent): Uint8Array<ArrayBuffer> | null {
    const keys = this.#keys();
    if (!keys) return null;
    const seal = keys.seal({ kind, object: this.#object, row }, content, currentTime());
    // What is written is often read next.
    this.#remember(keys, textOf(kind, row, content), seal);
    return seal;
  }

  /**
   * True when a row that was read may be used. One that may not is reported.
   *
   * @param renew stores the new seal of a row whose seal is of an older term.
   */
  admit(row: SealedRow, renew: (seal: Uint8Array<ArrayBuffer>) => void): boolean {
    const keys = this.#keys();
    if (!keys) return true;
    const text = textOf(row.kind, row.row, row.content);
    const known = keys === this.#checkedWith ? this.#checked.get(text) : undefined;
    if (known && row.seal && equalBytes(known, new Uint8Array(row.seal))) return true;
    const verdict = this.check(row, renew);
    if (verdict === "good" && row.seal) this.#remember(keys, text, new Uint8Array(row.seal));
    return verdict !== "forged";
  }

  /** Checks a row, whatever is remembered of it. Reports and renews like `admit`. */
  check({ kind, row, content, seal }: SealedRow, renew: (seal: Uint8Array<ArrayBuffer>) => void): SealVerdict {
    const keys = this.#keys();
    if (!keys) return "good";
    const place = { kind, object: this.#object, row };
    const now = currentTime();
    const verdict = keys.check(place, content, seal && new Uint8Array(seal), now);
    if (verdict === "forged") reportTampering(place);
    if (verdict === "renew") renew(keys.seal(place, content, now));
    return verdict;
  }

  #remember(keys: RowKeys, text: string, seal: Uint8Array): void {
    if (keys !== this.#checkedWith) this.#checked = new GenerationalCache(MAX_CHECKED_CHARACTERS);
    this.#checkedWith = keys;
    if (text.length <= MAX_CHECKED_CHARACTERS) this.#checked.set(text, seal, text.length);
  }
}

/** A row as one string, different for every row. */
function textOf(kind: SealedKind, row: string | number, content: SealedContent): string {
  return JSON.stringify([kind, row, ...content]);
}

/** Rows whose tampering was reported since the isolate began: each is reported once, however often it is asked for. */
const reported = new Set<string>();
const MAX_REPORTED = 10_000;

/** Writes to the log that a row was made or changed by somebody who has no keys. The row is refused. */
export function reportTampering({ kind, object, row }: RowPlace): void {
  const key = JSON.stringify([kind, object, row]);
  if (reported.has(key) || reported.size >= MAX_REPORTED) return;
  reported.add(key);
  console.error(JSON.stringify({ type: "tampering", kind, object, row }));
}
