import { RANDOM_REVISION } from "../storage/revision.ts";
import type { PartName, PartVersions } from "./snapshot.ts";

/** The table of the versions of the snapshot's parts. */
export const PART_VERSION_TABLE = `
  CREATE TABLE part_versions (part TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Reads and writes the versions of the snapshot's parts. They are cached in memory, since isolates poll them. */
export class PartVersionStore {
  readonly #sql: SqlStorage;
  #versions: PartVersions | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The current versions. A part without a stored version gets a random one. */
  get now(): PartVersions {
    this.#versions ??= this.#read();
    return this.#versions;
  }

  /** Assigns a new random version to each of `parts`, in the transaction that changes them. */
  change(...parts: readonly PartName[]): void {
    const changed = parts.map((part) => [part, this.#renew(part)] as const);
    this.#versions = { ...this.now, ...Object.fromEntries(changed) };
  }

  #read(): PartVersions {
    const rows = this.#sql.exec<{ part: string; version: number }>("SELECT part, version FROM part_versions").toArray();
    const stored = new Map(rows.map(({ part, version }) => [part, version]));
    const version = (part: PartName): number => stored.get(part) ?? this.#renew(part);
    return {
      keys: version("keys"),
      policies: version("policies"),
      mounts: version("mounts"),
      customIds: version("customIds"),
      quotas: version("quotas"),
      watermarks: version("watermarks"),
      lists: version("lists"),
    };
  }

  #renew(part: PartName): number {
    return this.#sql
      .exec<{ version: number }>(
        `INSERT INTO part_versions (part, version) VALUES (?, ${RANDOM_REVISION})
         ON CONFLICT (part) DO UPDATE SET version = excluded.version RETURNING version`,
        part,
      )
      .one().version;
  }
}
