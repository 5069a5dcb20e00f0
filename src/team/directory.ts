import { nameKey } from "../base/name.ts";
import { readPageOf } from "../storage/pages.ts";
import { type Migration, storedJson } from "../storage/tables.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { TeamEnv } from "./env.ts";
import type { OrganizationPage, OrganizationRecord, Page, PageRequest } from "./record.ts";

export const ORGANIZATION_DIRECTORY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organizations of the installation",
    sql: `
      CREATE TABLE organizations (
        row INTEGER PRIMARY KEY,
        name_key TEXT NOT NULL UNIQUE,
        record TEXT NOT NULL
      );
    `,
  },
];

interface OrganizationRow extends Record<string, SqlStorageValue> {
  row: number;
  name_key: string;
  record: string;
}

/**
 * The list of all organizations, for listings only. All other requests go to the organization itself, which is the
 * authority: it adds itself to this list and removes itself.
 */
export class OrganizationDirectory extends GroveObject<TeamEnv> {
  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, ORGANIZATION_DIRECTORY_MIGRATIONS);
  }

  /** Lists the organization from now on, as it is now. Safe to repeat. */
  put(organization: OrganizationRecord): void {
    const statement = `INSERT INTO organizations (name_key, record) VALUES (?, ?)
      ON CONFLICT (name_key) DO UPDATE SET record = excluded.record`;
    this.tables.exec(statement, nameKey(organization.name), JSON.stringify(organization));
  }

  /** Takes the organization with this id off the list. Safe to repeat. */
  remove(name: string, organizationId: string): void {
    const row = this.#find(nameKey(name));
    if (!row || recordOf(row).organizationId !== organizationId) return;
    this.tables.exec("DELETE FROM organizations WHERE row = ?", row.row);
  }

  /** A page of the organizations by name. `part` is text that the name must hold, "" for none. */
  list({ number, size }: PageRequest, part: string): Page<OrganizationRecord> {
    const query = { table: "organizations", order: "name_key", part: nameKey(part) };
    const page = readPageOf<OrganizationRow>(this.tables, { ...query, offset: (number - 1) * size, limit: size });
    return { items: page.rows.map(recordOf), total: page.total };
  }

  /** At most `limit` organizations whose row comes after `row`, and the row to go on after; null at the end. */
  after(row: number, limit: number): OrganizationPage {
    const rows = this.tables
      .exec<OrganizationRow>("SELECT * FROM organizations WHERE row > ? ORDER BY row LIMIT ?", row, limit)
      .toArray();
    return { items: rows.map(recordOf), next: rows.length < limit ? null : (rows.at(-1)?.row ?? null) };
  }

  #find(key: string): OrganizationRow | null {
    return (
      this.tables.exec<OrganizationRow>("SELECT * FROM organizations WHERE name_key = ?", key).toArray()[0] ?? null
    );
  }
}

function recordOf(row: OrganizationRow): OrganizationRecord {
  return storedJson<OrganizationRecord>(row.record);
}
