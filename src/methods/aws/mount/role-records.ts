import { DENIED, err, ok, type Result, refuse } from "../../../base/result.ts";
import type { SealedKind } from "../../../crypto/row-keys.ts";
import { mayWrite, type WriteGrants } from "../../../policy/write-grants.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedValues } from "../../../storage/sealed-table.ts";
import type { Sql } from "../../../storage/tables.ts";
import { cloudSecretsIn } from "../cloud-secrets.ts";

interface RecordTable {
  readonly table: string;
  readonly kind: SealedKind;
  readonly max: number;
  readonly plural: string;
}

/** Records that operators configure, by name. */
export class RoleRecords<T> extends SealedValues<T> {
  readonly #of: RecordTable;
  readonly #changed: () => void;

  /** @param changed called after each change, in its transaction. */
  constructor(sql: Sql, seals: RowSeals, of: RecordTable, changed: () => void) {
    super(sql, seals, of.table, of.kind, cloudSecretsIn);
    this.#of = of;
    this.#changed = changed;
  }

  /**
   * Creates or changes a record. `change` returns the new one, or why the write is refused; `before` is null for a new
   * one. Returns "permission_denied", or a 400 when the write is refused or the table is full.
   */
  change(name: string, grants: WriteGrants, change: (before: T | null) => Result<T>): Result<null> {
    const before = this.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = change(before);
    return after.ok ? this.replace(name, before, after.value) : after;
  }

  /** Writes a record in place of `before` (null for a new one); a 400 when the table is full. */
  replace(name: string, before: T | null, after: T): Result<null> {
    const { max, plural } = this.#of;
    if (!before && this.count() >= max) return refuse(`there are ${max} ${plural} already`);
    this.write(name, after);
    this.#changed();
    return ok(null);
  }

  override delete(name: string): void {
    super.delete(name);
    this.#changed();
  }
}
