import { nameKey } from "../base/case-folding.ts";
import { type PageRequest, type RowPage, readPage, rowAfter } from "../storage/pages.ts";
import { type Migration, storedJson, upsert } from "../storage/tables.ts";
import { GroveObject } from "../system/grove-object.ts";
import type { TeamEnv } from "./env.ts";
import type { OrganizationRecord } from "./record.ts";

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

type OrganizationRow = { row: number; record: string };

/**
 * The list of all organizations, for listings only. Each organization adds and removes itself, and is the authority for
 * all other requests.
 */
export class OrganizationDirectory extends GroveObject<TeamEnv> {
  constructor(ctx: DurableObjectState, env: TeamEnv) {
    super(ctx, env, ORGANIZATION_DIRECTORY_MIGRATIONS);
  }

  /** Adds or updates an organization. Safe to repeat. */
  put(organization: OrganizationRecord): void {
    const row = { name_key: nameKey(organization.name), record: JSON.stringify(organization) };
    upsert(this.tables, "organizations", ["name_key"], row);
  }

  /** Removes the organization with this name and id, and remembers its end for a minute. Safe to repeat. */
  remove(name: string, organizationId: string): void {
    this.carriedOut.add({ callId: organizationId }, "end");
    const query = "SELECT * FROM organizations WHERE name_key = ?";
    const [row] = this.tables.exec<OrganizationRow>(query, nameKey(name)).toArray();
    if (!row || recordOf(row).organizationId !== organizationId) return;
    this.tables.exec("DELETE FROM organizations WHERE row = ?", row.row);
  }

  /**
   * True when the organization with this id was deleted within the last minute. An id is generated for one call that
   * creates an organization, so it identifies the call.
   */
  hasEnded(organizationId: string): boolean {
    return this.carriedOut.has({ callId: organizationId }, "end");
  }

  /** A page of the organizations whose name contains `part` (in any case), by name. */
  list(page: PageRequest, part: string): RowPage<OrganizationRecord> {
    return readPage(this.tables, { table: "organizations", order: "name_key", part }, page, recordOf);
  }

  /** At most `limit` organizations after `row`. `next` is the row after which the next page begins; null at the end. */
  after(row: number, limit: number): { readonly items: OrganizationRecord[]; readonly next: number | null } {
    const query = "SELECT * FROM organizations WHERE row > ? ORDER BY row LIMIT ?";
    const rows = this.tables.exec<OrganizationRow>(query, row, limit).toArray();
    return { items: rows.map(recordOf), next: rowAfter(rows, limit) };
  }
}

function recordOf(row: OrganizationRow): OrganizationRecord {
  return storedJson<OrganizationRecord>(row.record);
}
