import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/** Number of the newest object of a shard of the audit store. */
export interface AuditObjectNumber {
  readonly shard: number;
  readonly number: number;
}

/** The schema of these numbers. Its versions are independent of those of the installation's schema. */
export const AUDIT_NUMBER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the newest object of each shard of the audit store",
    sql: "CREATE TABLE audit_numbers (shard INTEGER PRIMARY KEY, number INTEGER NOT NULL, seal BLOB);",
  },
];

const SHAPE: TableShape = { table: "audit_numbers", kind: "audit object number", key: ["shard"], sealed: ["number"] };

/**
 * The number of the newest object of each shard of the audit store. Their directory can't lose an entry without the
 * difference being seen.
 */
export class AuditNumberStore extends SystemStore {
  readonly #tables = new Tables(this.storage, AUDIT_NUMBER_MIGRATIONS, "audit_numbers");
  readonly #sealed = new SealedTable<{ shard: number; number: number }>(this.#tables, this.seals, SHAPE);

  /** Stores numbers that are greater than the stored ones. Returns all stored ones. */
  note(numbers: readonly AuditObjectNumber[]): AuditObjectNumber[] {
    const known = new Map(this.#sealed.list().map(({ shard, number }) => [shard, number]));
    for (const { shard, number } of numbers) {
      if (number <= (known.get(shard) ?? 0)) continue;
      this.#sealed.put({ shard, number });
      known.set(shard, number);
    }
    return [...known].map(([shard, number]) => ({ shard, number }));
  }

  /** Forgets all numbers: a restored installation begins another audit store. */
  clear(): void {
    this.#tables.exec("DELETE FROM audit_numbers");
  }
}
