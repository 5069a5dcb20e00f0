import type { RowSeals } from "../storage/row-seals.ts";
import { columnOf, RANDOM_REVISION, type Sql, type Tables } from "../storage/tables.ts";

/** The parts of the installation that isolates have copies of. */
const PART_NAMES = ["keys", "policies", "mounts", "customIds", "quotas", "watermarks", "lists"] as const;

export type PartName = (typeof PART_NAMES)[number];

/**
 * The version of each part. Every change of the part gives it a new one. Versions are random and not counted: an object
 * that is restored to an earlier state and changes again must not repeat a version.
 */
export type PartVersions = Readonly<Record<PartName, number>>;

/** Name of the row that counts the changes. 1.0.0-rc.1 does not know it, and leaves it as it is. */
const REVISION = "revision";

/** The versions of an installation that stores nothing yet. */
export const NO_VERSIONS: PartVersions = {
  keys: 0,
  policies: 0,
  mounts: 0,
  customIds: 0,
  quotas: 0,
  watermarks: 0,
  lists: 0,
};

/** The parts whose version in `known` is not the current one; all parts for null. */
export function changedParts(known: PartVersions | null, now: PartVersions): ReadonlySet<PartName> {
  return new Set(PART_NAMES.filter((part) => known?.[part] !== now[part]));
}

/** Reads and writes the versions of the parts. They are cached in memory, since isolates poll them. */
export class PartVersionStore {
  readonly #sql: Sql;
  #versions: PartVersions | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The current versions. A part without a stored version gets a random one. */
  get now(): PartVersions {
    this.#versions ??= this.#read();
    return this.#versions;
  }

  /** Gives `part` a new random version, in the transaction that changes it, and counts the change. */
  change(part: PartName): void {
    this.#versions = { ...this.now, [part]: this.#renew(part) };
    const statement = `INSERT INTO part_versions (part, version) VALUES (?, 1)
      ON CONFLICT (part) DO UPDATE SET version = version + 1`;
    this.#sql.exec(statement, REVISION);
  }

  /** The number of changes of all parts; 0 before a release counted them. */
  get revision(): number {
    return columnOf<number>(this.#sql, "SELECT version FROM part_versions WHERE part = ?", REVISION)[0] ?? 0;
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
    const statement = `INSERT INTO part_versions (part, version) VALUES (?, ${RANDOM_REVISION})
      ON CONFLICT (part) DO UPDATE SET version = excluded.version RETURNING version`;
    const [version = 0] = columnOf<number>(this.#sql, statement, part);
    return version;
  }
}

/** The tables of the System object, with the seals of its rows and the versions of its parts. */
export interface SystemTables {
  /** The tables of `SYSTEM_MIGRATIONS`. */
  readonly schema: Tables;
  /** The database, for other schemas. */
  readonly storage: SqlStorage;
  readonly seals: RowSeals;
  readonly versions: PartVersionStore;
}

/** Base of the stores of the System object. */
export abstract class SystemStore {
  protected readonly sql: Sql;
  protected readonly storage: SqlStorage;
  protected readonly seals: RowSeals;
  readonly #versions: PartVersionStore;

  constructor({ schema, storage, seals, versions }: SystemTables) {
    this.sql = schema;
    this.storage = storage;
    this.seals = seals;
    this.#versions = versions;
  }

  protected changed(part: PartName): void {
    this.#versions.change(part);
  }
}
