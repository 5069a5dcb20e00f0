import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import type { OrganizationRecord } from "./record.ts";

interface Row extends Record<string, SqlStorageValue> {
  id: number;
  record: string;
  listed: number;
  ended: number;
  checked_row: number;
  check_at: number;
}

const SHAPE: TableShape = { table: "organization", kind: "organization", key: ["id"], sealed: ["record"] };

/** How far the work in the background is. */
export interface OrganizationProgress {
  /** True when the directory has the record as it is. */
  readonly listed: boolean;
  /** True from the moment of deletion until every team has ended. */
  readonly ended: boolean;
  /** When some teams are compared next (ms), and the row after which. */
  readonly checkAt: number;
  readonly checkedRow: number;
}

/** The one row of an organization: its record, which is sealed, and how far its work in the background is. */
export class OrganizationRow {
  readonly #sql: SqlStorage;
  readonly sealed: SealedTable<Row>;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.sealed = new SealedTable(sql, seals, SHAPE);
  }

  /** @param checkAt when teams are first compared (ms). */
  insert(record: OrganizationRecord, checkAt: number): void {
    this.#sql.exec(
      "INSERT INTO organization (id, record, listed, ended, checked_row, check_at) VALUES (1, ?, 0, 0, 0, ?)",
      JSON.stringify(record),
      checkAt,
    );
    this.sealed.seal(this.#read());
  }

  /** The record of an organization that exists. Null after its end, and for one that was tampered with. */
  record(): OrganizationRecord | null {
    const row = this.#read();
    return !row.ended && this.sealed.admits(row) ? (JSON.parse(row.record) as OrganizationRecord) : null;
  }

  /** The name and id of the organization, after its end too. */
  identity(): Pick<OrganizationRecord, "name" | "organizationId"> {
    const { name, organizationId } = JSON.parse(this.#read().record) as OrganizationRecord;
    return { name, organizationId };
  }

  write(record: OrganizationRecord): void {
    const json = JSON.stringify(record);
    const seal = this.sealed.sealOf({ ...this.#read(), record: json });
    this.#sql.exec("UPDATE organization SET record = ?, seal = ?", json, seal);
  }

  setListed(listed: boolean): void {
    this.#sql.exec("UPDATE organization SET listed = ?", listed ? 1 : 0);
  }

  end(): void {
    this.#sql.exec("UPDATE organization SET ended = 1");
  }

  progress(): OrganizationProgress {
    const { listed, ended, check_at: checkAt, checked_row: checkedRow } = this.#read();
    return { listed: listed !== 0, ended: ended !== 0, checkAt, checkedRow };
  }

  planCheck(at: number): void {
    this.#sql.exec("UPDATE organization SET check_at = ?", at);
  }

  checkedUpTo(row: number): void {
    this.#sql.exec("UPDATE organization SET checked_row = ?", row);
  }

  #read(): WithSeal<Row> {
    return this.#sql.exec<WithSeal<Row>>("SELECT * FROM organization").one();
  }
}
