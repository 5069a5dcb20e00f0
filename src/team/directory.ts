import type { Failure } from "../base/errors.ts";
import { nameKey } from "../base/name.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { NAME_SEARCH_TABLES, NameSearch } from "../storage/name-search.ts";
import { RANKED_INDEX_TABLES, RankedIndex } from "../storage/ranked-index.ts";
import type { Migration } from "../storage/schema.ts";
import { GroveObject } from "../system/grove-object.ts";
import { TOO_BROAD } from "./failures.ts";
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
      ${RANKED_INDEX_TABLES}
      ${NAME_SEARCH_TABLES}
    `,
  },
];

const BY_NAME = "organizations";

interface OrganizationRow extends Record<string, SqlStorageValue> {
  row: number;
  name_key: string;
  record: string;
}

/**
 * The list of all organizations, for listings only. All other requests go to the organization itself, which is the
 * authority: it adds itself to this list and removes itself.
 */
export class OrganizationDirectory extends GroveObject {
  readonly #ranks: RankedIndex;
  readonly #names: NameSearch;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, ORGANIZATION_DIRECTORY_MIGRATIONS);
    this.#ranks = new RankedIndex(this.tables);
    this.#names = new NameSearch(this.tables, "organizations");
  }

  /** Lists the organization from now on, as it is now. Safe to repeat. */
  put(organization: OrganizationRecord): void {
    const key = nameKey(organization.name);
    const record = JSON.stringify(organization);
    const before = this.#find(key);
    if (before) {
      this.tables.exec("UPDATE organizations SET record = ? WHERE row = ?", record, before.row);
      return;
    }
    const { row } = this.tables
      .exec<{ row: number }>("INSERT INTO organizations (name_key, record) VALUES (?, ?) RETURNING row", key, record)
      .one();
    this.#ranks.add(BY_NAME, key, row);
    this.#names.add(key, row);
  }

  /** Takes the organization with this id off the list. Safe to repeat. */
  remove(name: string, organizationId: string): void {
    const row = this.#find(nameKey(name));
    if (!row || recordOf(row).organizationId !== organizationId) return;
    this.tables.exec("DELETE FROM organizations WHERE row = ?", row.row);
    this.#ranks.remove(BY_NAME, row.name_key, row.row);
    this.#names.remove(row.name_key, row.row);
  }

  /** A page of the organizations by name. `part` is text that the name must hold, "" for none. */
  list({ number, size }: PageRequest, part: string): Result<Page<OrganizationRecord>, Failure> {
    const offset = (number - 1) * size;
    if (part === "") {
      const rows = this.#ranks.page(BY_NAME, offset, size, false);
      return ok({ items: this.#read(rows), total: this.#ranks.count(BY_NAME) });
    }
    const found = this.#names.find(nameKey(part));
    if (found === "too_many") return err(TOO_BROAD);
    return ok({ items: this.#read(found.slice(offset, offset + size)), total: found.length });
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

  #read(rows: readonly number[]): OrganizationRecord[] {
    return this.tables
      .exec<OrganizationRow>(
        "SELECT * FROM organizations WHERE row IN (SELECT value FROM json_each(?)) ORDER BY name_key",
        JSON.stringify(rows),
      )
      .toArray()
      .map(recordOf);
  }
}

function recordOf(row: OrganizationRow): OrganizationRecord {
  return JSON.parse(row.record) as OrganizationRecord;
}
