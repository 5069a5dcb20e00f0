import type { Ms } from "../base/clock.ts";
import { SealedTable, type TableShape, type WithSeal } from "../storage/sealed-table.ts";
import { columnOf, type Migration, storedJson, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";
import type { Actor } from "./revocation-origin.ts";
import type { PolicySettings, StoredPolicy } from "./stored-policy.ts";

/** A version of a policy: the current one or an earlier one. */
export interface PolicyVersion extends StoredPolicy {
  /** The token that wrote it; null when it is not known. */
  readonly by: Actor | null;
}

/** Maximum number of versions of one policy that are kept, the current one among them. */
export const MAX_POLICY_VERSIONS = 20;

/** Maximum length of all kept versions together, in characters of all columns. The oldest are dropped first. */
export const MAX_VERSIONS_LENGTH = 4 * 1024 * 1024;

/** Maximum number of all kept versions together: each write of a policy reads their sizes. */
export const MAX_ALL_VERSIONS = 20_000;

/**
 * The schema of the versions of policies. Its versions are independent of those of the installation's schema. The database
 * itself deletes the versions of a policy with it: so does a release that does not know the table. `size` comes before the
 * texts, which are not read for it.
 */
export const POLICY_VERSION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the last versions of each policy",
    sql: `CREATE TABLE policy_versions (
      name TEXT NOT NULL REFERENCES policies (name) ON UPDATE CASCADE ON DELETE CASCADE,
      version INTEGER NOT NULL,
      size INTEGER NOT NULL,
      text TEXT NOT NULL,
      settings TEXT NOT NULL,
      modified_at INTEGER NOT NULL,
      changed_by TEXT NOT NULL,
      seal BLOB,
      PRIMARY KEY (name, version)
    ) WITHOUT ROWID;`,
  },
];

interface VersionColumns extends Record<string, SqlStorageValue> {
  name: string;
  version: number;
  /** Length of all texts of the row, in characters. */
  size: number;
  text: string;
  /** JSON of `PolicySettings`. */
  settings: string;
  modified_at: Ms;
  /** JSON of an `Actor`, or null. */
  changed_by: string;
}

const SHAPE: TableShape = {
  table: "policy_versions",
  kind: "policy version",
  key: ["name", "version"],
  sealed: ["size", "text", "settings", "modified_at", "changed_by"],
};

/**
 * The last versions of each policy, for operators alone: no decision reads them, and isolates get no copy. The current
 * version has a row as well, which says who wrote it. A release that does not know the table writes only the policy, so
 * the row of the current version counts only if its time of change is that of the policy.
 */
export class PolicyVersionStore extends SystemStore {
  readonly #tables = new Tables(this.storage, POLICY_VERSION_MIGRATIONS, "policy_versions");
  readonly #sealed = new SealedTable<VersionColumns>(this.#tables, this.seals, SHAPE);

  /** The kept versions of `current`, the newest first, with itself. One with an invalid seal is left out. */
  all(current: StoredPolicy): PolicyVersion[] {
    const rows = this.#sealed.list("WHERE name = ? ORDER BY version DESC", current.name);
    const own = rows.find((row) => isOf(row, current));
    const earlier = rows.filter(({ version }) => version < current.version);
    return [{ ...current, by: own ? versionOf(own).by : null }, ...earlier.map(versionOf)];
  }

  /**
   * Records that `next` replaces `current` (null: nothing, or a row with an invalid seal), in the transaction that does.
   *
   * @param by the token that writes `next`; null when it is not known. Then `next` is recorded only when it is replaced.
   */
  note(current: StoredPolicy | null, next: StoredPolicy, by: Actor | null): void {
    if (current && !this.#has(current)) this.#put({ ...current, by: null });
    if (by) this.#put({ ...next, by });
    const tooOld = next.version - MAX_POLICY_VERSIONS;
    this.#tables.exec("DELETE FROM policy_versions WHERE name = ? AND version <= ?", next.name, tooOld);
    this.#bound();
  }

  #has({ name, version, modifiedAt }: StoredPolicy): boolean {
    const query = "SELECT 1 FROM policy_versions WHERE name = ? AND version = ? AND modified_at = ?";
    return columnOf(this.#tables, query, name, version, modifiedAt).length > 0;
  }

  #put({ name, text, version, modifiedAt, by, ...settings }: PolicyVersion): void {
    const texts = { text, settings: JSON.stringify(settings), changed_by: JSON.stringify(by) };
    const size = [name, ...Object.values(texts)].reduce((sum, { length }) => sum + length, 0);
    this.#sealed.put({ name, version, size, ...texts, modified_at: modifiedAt });
  }

  /** Drops the oldest versions beyond the bounds of all. */
  #bound(): void {
    const query = "SELECT COUNT(*) AS count, COALESCE(SUM(size), 0) AS size FROM policy_versions";
    const [all] = this.#tables.exec<{ count: number; size: number }>(query).toArray();
    if (!all || (all.count <= MAX_ALL_VERSIONS && all.size <= MAX_VERSIONS_LENGTH)) return;
    this.#tables.exec(
      `DELETE FROM policy_versions WHERE (name, version) IN (
        SELECT name, version FROM (
          SELECT name, version, SUM(size) OVER newest AS length, ROW_NUMBER() OVER newest AS place FROM policy_versions
          WINDOW newest AS (ORDER BY modified_at DESC, version DESC, name)
        ) WHERE length > ? OR place > ?
      )`,
      MAX_VERSIONS_LENGTH,
      MAX_ALL_VERSIONS,
    );
  }
}

function isOf(row: VersionColumns, { version, modifiedAt }: StoredPolicy): boolean {
  return row.version === version && row.modified_at === modifiedAt;
}

function versionOf({
  name,
  version,
  text,
  settings,
  modified_at,
  changed_by,
}: WithSeal<VersionColumns>): PolicyVersion {
  const by = storedJson<Actor | null>(changed_by);
  return { ...storedJson<PolicySettings>(settings), name, version, text, modifiedAt: modified_at, by };
}
