import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { RowKeys, RowPlace, SealedContent, SealedKind, SealVerdict } from "../crypto/row-keys.ts";
import type { StoredRow } from "./object-pages.ts";

/** Size of one generation of the cache of checked rows, in characters. */
const MAX_CHECKED_CHARACTERS = 2 ** 17;

export interface SealedRow {
  readonly kind: SealedKind;
  /** Key of the row in its table. */
  readonly row: string | number;
  readonly content: SealedContent;
  /** null: the row has none. */
  readonly seal: ArrayBuffer | null;
}

/** Stores a seal of the newest term in place of one of an older term. */
type RenewSeal = (seal: Uint8Array<ArrayBuffer>) => void;

/** Values of the columns of a primary key. */
export type RowKey = readonly (string | number)[];

export interface CheckedRows {
  /** Number of rows that were sealed again under a newer term. */
  readonly sealed: number;
  /** Number of rows with an invalid seal. */
  readonly tampered: number;
  /** Terms of the keys of sealed values in these rows. Such a term must not be dropped. */
  readonly terms: readonly number[];
}

/** Result of a check of the next rows of a table. */
export interface CheckedPage extends CheckedRows {
  readonly count: number;
  /** Key of the last row; null when there was none. */
  readonly last: RowKey | null;
}

/** The columns of a table that its seals cover. */
export interface SealedColumns {
  readonly table: string;
  readonly kind: SealedKind;
  /** Columns of its primary key, in their order. */
  readonly key: readonly string[];
  /** The other columns that the seal covers. */
  readonly sealed: readonly string[];
}

/** A table whose seals can be checked. */
interface CheckedTable {
  readonly shape: SealedColumns;
  /** Checks at most `limit` rows after the key `after` (null: from the first), and renews seals of older terms. */
  checkAfter(after: RowKey | null, limit: number): CheckedPage;
  /** True when a row has a seal, good or not. */
  hasSeals(): boolean;
  sealedRow(row: StoredRow): SealedRow;
}

/** Position where the next step of a check begins. */
export interface SealPosition {
  /** Index of the table in the object. */
  readonly table: number;
  readonly after: RowKey;
}

/** Result of one step of a check. */
export interface SealStep extends CheckedRows {
  /** null: all rows are checked. */
  readonly next: SealPosition | null;
}

/** Number of rows that one step checks. It bounds the time (a few ms) that requests to the object wait. */
const STEP_ROWS = 200;

/** The result for an object without rows. */
export const NOTHING_TO_CHECK: SealStep = { sealed: 0, tampered: 0, terms: [], next: null };

/**
 * Makes and checks the seals of the rows of one object (docs/decisions/0007). A row that decides about access is
 * written with a seal, and is used only if its seal is valid.
 */
export class RowSeals {
  readonly #object: string;
  readonly #keys: () => RowKeys;
  readonly #tables: CheckedTable[] = [];
  /** Seals that were found valid, by the row as text. A row with other content or another seal is checked again. */
  #checked = new GenerationalCache<string, Uint8Array>(MAX_CHECKED_CHARACTERS);
  /** The keys with which `#checked` was found valid. */
  #checkedWith: RowKeys | null = null;

  /** @param object id of the object. @param keys throws while there are none: no row is read or written then. */
  constructor(object: string, keys: () => RowKeys) {
    this.#object = object;
    this.#keys = keys;
  }

  /** Adds a table to the checks of all seals. */
  add(table: CheckedTable): void {
    this.#tables.push(table);
  }

  get shapes(): readonly SealedColumns[] {
    return this.#tables.map(({ shape }) => shape);
  }

  /** True when a row of any table has a seal, good or not. */
  hasSeals(): boolean {
    return this.#tables.some((table) => table.hasSeals());
  }

  /**
   * Returns a row of a restored table with a seal for this object, if its seal holds for the object `from`, which wrote
   * it. Any other row of a sealed table gets no seal: it stays refused.
   */
  moved(table: string, row: StoredRow, from: string): StoredRow {
    const sealed = this.#tables.find(({ shape }) => shape.table === table)?.sealedRow(row);
    if (!sealed) return row;
    const { kind, row: name, content, seal } = sealed;
    const keys = this.#keys();
    const now = currentTime();
    const verdict = keys.check({ kind, object: from, row: name }, content, seal && new Uint8Array(seal), now);
    const own = { kind, object: this.#object, row: name };
    return { ...row, seal: verdict === "forged" ? null : keys.seal(own, content, now).buffer };
  }

  /** Checks the seals of at most `STEP_ROWS` rows, for tidy. @param from null for the first step. */
  checkStep(from: SealPosition | null): SealStep {
    const pages: CheckedPage[] = [];
    let left = STEP_ROWS;
    for (const [number, table] of this.#tables.entries()) {
      if (number < (from?.table ?? 0)) continue;
      const page = table.checkAfter(number === from?.table ? from.after : null, left);
      pages.push(page);
      left -= page.count;
      if (left === 0 && page.last) return { ...joinedChecks(pages), next: { table: number, after: page.last } };
    }
    return { ...joinedChecks(pages), next: null };
  }

  /** Returns the seal for a row that is being written. */
  make(kind: SealedKind, row: string | number, content: SealedContent): Uint8Array<ArrayBuffer> {
    const keys = this.#keys();
    const seal = keys.seal({ kind, object: this.#object, row }, content, currentTime());
    // A row is often read right after it was written.
    this.#remember(keys, textOf(kind, row, content), seal);
    return seal;
  }

  /** True when a row that was read may be used. Reports a row with an invalid seal. */
  admit(row: SealedRow, renew: RenewSeal): boolean {
    const keys = this.#keys();
    const text = textOf(row.kind, row.row, row.content);
    const known = keys === this.#checkedWith ? this.#checked.get(text) : undefined;
    if (known && row.seal && equalBytes(known, new Uint8Array(row.seal))) return true;
    const verdict = this.check(row, renew);
    if (verdict === "good" && row.seal) this.#remember(keys, text, new Uint8Array(row.seal));
    return verdict !== "forged";
  }

  /** Checks a row without the cache. Reports and renews like `admit`. */
  check({ kind, row, content, seal }: SealedRow, renew: RenewSeal): SealVerdict {
    const keys = this.#keys();
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

/** Adds up the results of several checks. */
export function joinedChecks(checks: readonly CheckedRows[]): CheckedRows {
  return {
    sealed: checks.reduce((sum, { sealed }) => sum + sealed, 0),
    tampered: checks.reduce((sum, { tampered }) => sum + tampered, 0),
    terms: [...new Set(checks.flatMap(({ terms }) => terms))],
  };
}

/** A row as one text, which differs for every two rows. */
function textOf(kind: SealedKind, row: string | number, content: SealedContent): string {
  return JSON.stringify([kind, row, ...content]);
}

/** Rows that this isolate has reported. Each row is reported once, however often it is read. */
const reported = new Set<string>();
const MAX_REPORTED = 10_000;

/** Logs that a row was written or changed without the keys. The row is not used. */
export function reportTampering({ kind, object, row }: RowPlace): void {
  const key = JSON.stringify([kind, object, row]);
  if (reported.has(key) || reported.size >= MAX_REPORTED) return;
  reported.add(key);
  console.error(JSON.stringify({ type: "tampering", kind, object, row }));
}
