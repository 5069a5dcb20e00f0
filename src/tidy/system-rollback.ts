import type { Ms } from "../base/clock.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, Setting, type ValueRow, valuesTable } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";

export const SYSTEM_MARK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the revision of the System object that was seen last, and when it was lower than before",
    sql: valuesTable("marks"),
  },
];

/** How long a finding is kept, and how many of the latest. */
const KEPT_MS: Ms = 30 * 86_400_000;
const MAX_FOUND = 20;

/** The System object was in an earlier state than before. */
export interface PutBack {
  readonly at: Ms;
  /** The revision that was seen before; null: the mark was written without the keys. */
  readonly from: number | null;
  readonly to: number;
}

/** The mark as it was read. "forged": it was written without the keys. null: there is none yet. */
type SeenMark = number | "forged" | null;

interface Stored {
  readonly revision: number;
  readonly found: readonly PutBack[];
}

/**
 * High-water mark of the revision of the System object, in another object: a System object that is put back to an
 * earlier state has a lower revision. The mark then takes the lower revision, so each finding is reported once. A
 * finding refuses no request.
 */
export class SystemMark {
  readonly #stored: Setting<Stored>;

  constructor(storage: SqlStorage, seals: RowSeals) {
    const tables = new Tables(storage, SYSTEM_MARK_MIGRATIONS, "marks");
    const shape = { table: "marks", kind: "system mark", key: ["name"], sealed: ["value"] } as const;
    this.#stored = new Setting(new SealedTable<ValueRow>(tables, seals, shape), "system");
  }

  /** The mark. It has to be read before the revision is asked for: a revision that is read later is never lower. */
  seen(): SeenMark {
    const stored = this.#stored.read();
    if (stored) return stored.revision;
    return this.#stored.isTampered ? "forged" : null;
  }

  /** Notes the revision that the System object had after `seen`. Returns what that shows, once; null: nothing. */
  note(seen: SeenMark, revision: number, now: Ms): PutBack | null {
    // Another check has noted it meanwhile.
    if (this.seen() !== seen || seen === revision) return null;
    const isPutBack = seen === "forged" || (seen !== null && revision < seen);
    const putBack = isPutBack ? { at: now, from: seen === "forged" ? null : seen, to: revision } : null;
    this.#stored.write({ revision, found: [...this.found(now), ...(putBack ? [putBack] : [])].slice(-MAX_FOUND) });
    return putBack;
  }

  /** What was found in the last 30 days, the oldest first. */
  found(now: Ms): PutBack[] {
    return (this.#stored.read()?.found ?? []).filter(({ at }) => at > now - KEPT_MS);
  }
}
