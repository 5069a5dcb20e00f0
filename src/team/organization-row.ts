import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/stored-json.ts";
import type { Sql } from "../storage/tables.ts";
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
  readonly #sql: Sql;
  readonly #rows: SealedTable<Row>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#rows = new SealedTable(sql, seals, SHAPE);
  }

  /** @param checkAt when teams are first compared (ms). */
  insert(record: OrganizationRecord, checkAt: number): void {
    const json = JSON.stringify(record);
    this.#rows.put({ id: 1, record: json, listed: 0, ended: 0, checked_row: 0, check_at: checkAt });
  }

  /** The record of an organization that exists. Null after its end, and for one that was tampered with. */
  record(): OrganizationRecord | null {
    const row = this.#rows.find(1);
    return row && !row.ended ? storedJson<OrganizationRecord>(row.record) : null;
  }

  /** The name and id of the organization, after its end too. */
  identity(): Pick<OrganizationRecord, "name" | "organizationId"> {
    const { name, organizationId } = JSON.parse(this.#read().record) as OrganizationRecord;
    return { name, organizationId };
  }

  write(record: OrganizationRecord): void {
    this.#rows.put({ ...this.#read(), record: JSON.stringify(record) });
  }

  setListed(listed: boolean): void {
    this.#sql.exec("UPDATE organization SET listed = ?", listed ? 1 : 0);
  }

  end(): void {
    this.#sql.exec("UPDATE organization SET ended = 1");
  }

  /** null when there is no organization. */
  progress(): OrganizationProgress | null {
    const [row] = this.#sql.exec<Row>("SELECT * FROM organization").toArray();
    if (!row) return null;
    const { listed, ended, check_at: checkAt, checked_row: checkedRow } = row;
    return { listed: listed !== 0, ended: ended !== 0, checkAt, checkedRow };
  }

  planCheck(at: number): void {
    this.#sql.exec("UPDATE organization SET check_at = ?", at);
  }

  checkedUpTo(row: number): void {
    this.#sql.exec("UPDATE organization SET checked_row = ?", row);
  }

  #read(): Row {
    return this.#sql.exec<Row>("SELECT * FROM organization").one();
  }
}
