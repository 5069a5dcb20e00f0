import { DENIED, type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { SealedKind } from "../../../crypto/row-keys.ts";
import type { Verdict } from "../../../policy/acl.ts";
import type { RowSeals } from "../../../storage/row-seals.ts";
import { SealedTable } from "../../../storage/sealed-table.ts";
import { SealedValues, type ValueRow } from "../../../storage/sealed-values.ts";
import type { Sql } from "../../../storage/tables.ts";
import { sealedTexts } from "../secrets.ts";

/** What the caller's policies grant on the path of what is written. */
export type WriteGrants = Pick<Verdict, "create" | "update">;

/** A write needs the right to create what is not there (null), and the right to change what is. */
export function mayWrite(before: unknown, grants: WriteGrants): boolean {
  return before === null ? grants.create : grants.update;
}

/** A table of records that operators configure. */
export interface RecordTable {
  readonly table: string;
  readonly kind: SealedKind;
  /** Most records of one mount. */
  readonly max: number;
  /** What they are called in messages. */
  readonly plural: string;
}

/** Records that operators configure, by name. */
export class Records<T> extends SealedValues<T> {
  readonly #max: number;
  readonly #plural: string;
  readonly #changed: () => void;

  /** @param changed called after each change, in its transaction. */
  constructor(sql: Sql, seals: RowSeals, { table, kind, max, plural }: RecordTable, changed: () => void) {
    super(sql, seals, table, kind, sealedTexts);
    this.#max = max;
    this.#plural = plural;
    this.#changed = changed;
  }

  /**
   * Makes or changes a record.
   *
   * @param change gives the record after the write, or why it is refused; `before` is null for a new one.
   * @returns "permission_denied", or a 400 when the write is refused or the table is full.
   */
  change(name: string, grants: WriteGrants, change: (before: T | null) => Result<T, Failure>): Result<null, Failure> {
    const before = this.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = change(before);
    return after.ok ? this.replace(name, before, after.value) : after;
  }

  /** Writes a record in the place of `before`, null for a new one; a 400 when the table is full. */
  replace(name: string, before: T | null, after: T): Result<null, Failure> {
    if (!before && this.count() >= this.#max) return err(invalid(`there are ${this.#max} ${this.#plural} already`));
    this.write(name, after);
    this.#changed();
    return ok(null);
  }

  override delete(name: string): void {
    super.delete(name);
    this.#changed();
  }
}

/** The rows of a table of settings. */
export function settingRows(sql: Sql, seals: RowSeals, table: string, kind: SealedKind): SealedTable<ValueRow> {
  const values = ({ value }: Record<string, SqlStorageValue>) => sealedTexts(String(value));
  return new SealedTable(sql, seals, { table, kind, key: ["name"], sealed: ["value"], values });
}
