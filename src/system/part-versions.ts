import { RANDOM_REVISION } from "../storage/revision.ts";
import { PART_NAMES, type PartName, type PartVersions } from "./snapshot.ts";

/** The version of the whole goes: its parts have their own. */
export const PART_VERSION_TABLE = `
  CREATE TABLE part_versions (part TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
  ALTER TABLE installation DROP COLUMN version;
`;

/** The table of the versions of the snapshot's parts, and what it holds in memory: isolates ask for it all the time. */
export class PartVersionStore {
  readonly #sql: SqlStorage;
  #versions: PartVersions | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The versions as they are now. A part that is asked for the first time gets one. */
  get now(): PartVersions {
    this.#versions ??= this.#read();
    return this.#versions;
  }

  /** Draws another version for each of `parts`, in the step that changes them. */
  change(...parts: readonly PartName[]): void {
    const drawn = parts.map((part) => [part, this.#draw(part)] as const);
    this.#versions = { ...this.now, ...Object.fromEntries(drawn) };
  }

  #read(): PartVersions {
    const rows = this.#sql.exec<{ part: string; version: number }>("SELECT part, version FROM part_versions").toArray();
    const stored = new Map(rows.map(({ part, version }) => [part, version]));
    const versions = PART_NAMES.map((part) => [part, stored.get(part) ?? this.#draw(part)] as const);
    return Object.fromEntries(versions) as PartVersions;
  }

  #draw(part: PartName): number {
    return this.#sql
      .exec<{ version: number }>(
        `INSERT INTO part_versions (part, version) VALUES (?, ${RANDOM_REVISION})
         ON CONFLICT (part) DO UPDATE SET version = excluded.version RETURNING version`,
        part,
      )
      .one().version;
  }
}
